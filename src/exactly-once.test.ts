import { createExecutionContext, env, runDurableObjectAlarm } from "cloudflare:test";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { app } from "./app.ts";
import { call, freshRun, GROUP, OPEN, REGISTRATION } from "./testing.ts";

describe("exactly once over HTTP", () => {
  // Groups of a batch are ordered by shard.
  const settings = { ...REGISTRATION, batch_size: 4, payload_shards: 1 };
  const post = (run: string, body: unknown, headers: Record<string, string> = {}) =>
    call("POST", `/runs/${run}/scored_data`, body, headers);

  test("a request with an Idempotency-Key that comes again is told so, and changes nothing", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, settings);
    const key = { "idempotency-key": "3f2c-1" };
    const first = await post(run, GROUP, key);
    const again = await post(run, GROUP, key);
    expect([first.text, again.text]).toEqual(['{"status":"received"}', '{"status":"received"}']);
    expect([first.headers.get("lachesis-repeated"), again.headers.get("lachesis-repeated")]).toEqual([null, "true"]);
    const list = await call("POST", `/runs/${run}/scored_data_list`, [GROUP], key);
    expect([list.headers.get("lachesis-repeated"), list.text]).toEqual([
      "true",
      '{"status":"received","groups_processed":1}',
    ]);
    expect(JSON.parse((await call("GET", `/runs/${run}/status`)).text)).toMatchObject({ queue_size: 1 });
    expect((await post(run, GROUP, { "idempotency-key": "with space" })).status).toBe(422);
    expect((await post(run, GROUP, { "lachesis-lease": "x" })).text).toContain("lachesis-lease");
  });

  test("with deduplicate the contents tell it, small or large, also gzipped", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...settings, batch_size: 64, deduplicate: true });
    const large = { ...GROUP, notes: "x".repeat(3_000_000) };
    for (const body of [GROUP, { ...GROUP, notes: "another" }, large]) {
      expect((await post(run, body)).headers.get("lachesis-repeated")).toBeNull();
      expect((await post(run, body)).headers.get("lachesis-repeated")).toBe("true");
    }
    const zipped = gzipSync(JSON.stringify(GROUP));
    const request = new Request(`http://lachesis/runs/${run}/scored_data`, {
      method: "POST",
      body: zipped,
      headers: { "content-encoding": "gzip" },
    });
    const response = await app.fetch(request, OPEN, createExecutionContext());
    expect(response.headers.get("lachesis-repeated")).toBe("true");
    expect(JSON.parse((await call("GET", `/runs/${run}/status`)).text)).toMatchObject({ queue_size: 3 });
  });

  test("deduplicate is in force with the answer of a register, and no longer than the run, whatever was known before", async () => {
    const run = freshRun();
    const large = { ...GROUP, notes: "x".repeat(3_000_000) };
    const bodies = ["/scored_data", "/scored_data_list"].flatMap((path) =>
      [GROUP, large].map((body) => ({ path, body: path.endsWith("list") ? [body] : body })),
    );
    for (const deduplicate of [false, true, false]) {
      await call("POST", `/runs/${run}/register`, { ...settings, batch_size: 64, deduplicate });
      const repeated = [];
      for (const { path, body } of bodies) {
        await call("POST", `/runs/${run}${path}`, body);
        const again = await call("POST", `/runs/${run}${path}`, body);
        repeated.push(again.headers.get("lachesis-repeated") === "true");
      }
      expect(repeated).toEqual(bodies.map(() => deduplicate));
      const { queue_size: groups } = JSON.parse((await call("GET", `/runs/${run}/status`)).text);
      expect(groups).toBe(bodies.length * (deduplicate ? 1 : 2));
      await call("GET", `/runs/${run}/reset_data`);
    }
  });

  test("a full queue answers 503 with Retry-After, which stock environments obey", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...settings, max_queue_sequences: 4 });
    await post(run, GROUP);
    await post(run, GROUP);
    const refused = await post(run, GROUP);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(refused.text).toContain("6 sequences of at most 4");
  });

  test("a full disk answers 503 with Retry-After to small and large posts; batches go on", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, payload_shards: 1, keep_steps: 0 });
    await post(run, GROUP);
    // Text that doesn't shrink, until the 8 MiB of these tests' deployment are used.
    const noise = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("base64");
    let refused = await post(run, GROUP);
    for (let posts = 0; posts < 200 && refused.status === 200; posts++)
      refused = await post(run, { ...GROUP, noise: noise(65_536) });
    for (const answer of [
      refused,
      await post(run, GROUP),
      await post(run, { ...GROUP, noise: noise(65_536).repeat(24) }),
    ]) {
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "30"]);
      expect(answer.text).toContain("disk");
    }
    expect(JSON.parse((await call("GET", `/runs/${run}/batch`)).text)).toMatchObject({ batch: [GROUP] });
  });

  test("a batch can be read again while it is kept, and a rewind that isn't possible says from where it is", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, keep_steps: 1 });
    for (const note of ["first", "second", "third"]) {
      await post(run, { ...GROUP, note });
      await call("GET", `/runs/${run}/batch`);
    }
    expect(JSON.parse((await call("GET", `/runs/${run}/batches/3`)).text)).toMatchObject({
      batch: [{ note: "third" }],
      batch_id: 3,
      step: 3,
    });
    expect((await call("GET", `/runs/${run}/batches/9`)).status).toBe(404);
    await runDurableObjectAlarm(env.RUN.getByName(run));
    const refused = await call("POST", `/runs/${run}/register`, { ...REGISTRATION, resume_from_step: 0 });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("steps 3 to 3 are kept");
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, resume_from_step: 2 });
    expect(JSON.parse((await call("GET", `/runs/${run}/batch`)).text)).toMatchObject({ batch: [{ note: "third" }] });
  });

  test("ranks get their slices, and a query that makes no sense says what is wrong", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, settings);
    for (const note of ["a", "b"]) await post(run, { ...GROUP, note });
    const notes = [];
    for (const rank of [0, 1]) {
      const { text } = await call("GET", `/runs/${run}/batch?lease=60&trainer=t&rank=${rank}&world_size=2`);
      expect(JSON.parse(text)).toMatchObject({ batch_id: 1, rank, world_size: 2 });
      notes.push(JSON.parse(text).batch[0].note);
    }
    expect(notes).toEqual(["a", "b"]);
    for (const [query, field] of [
      ["rank=0&lease=9", "world_size"],
      ["world_size=2&lease=9", "rank"],
      ["rank=2&world_size=2&lease=9", "rank"],
      ["rank=0&world_size=2", "lease"],
      ["trainer=a%20b", "trainer"],
    ]) {
      const { status, text } = await call("GET", `/runs/${run}/batch?${query}`);
      expect([status, JSON.parse(text).detail[0].loc]).toEqual([422, ["query", field]]);
    }
    const held = await call("POST", `/runs/${run}/batches/1/ack`, { trainer: "u" });
    expect([held.status, held.text]).toEqual([
      409,
      '{"detail":"batch 1 is held by the trainer t now; whoever holds it says so with trainer or hold"}',
    ]);
  });

  test("a fork goes on from a step of another run, with the batches after it and the queue, whatever their size", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, keep_steps: 9, starting_step: 7 });
    const large = "x".repeat(2_500_000);
    for (const note of ["first", "second", large, "queued"]) await post(run, { ...GROUP, note });
    for (let step = 0; step < 3; step++) await call("GET", `/runs/${run}/batch`);
    const copy = freshRun();
    const answer = await call("POST", `/runs/${copy}/fork`, { from: run, step: 8 });
    expect(JSON.parse(answer.text)).toEqual({ status: "forked", from: run, step: 8, groups: 3, remaining: 0 });
    const notes = [];
    for (let batch = 0; batch < 3; batch++) {
      const { text, headers } = await call("GET", `/runs/${copy}/batch`);
      notes.push([headers.get("lachesis-step"), JSON.parse(text).batch[0].note]);
    }
    expect(notes).toEqual([
      ["9", "second"],
      ["10", large],
      ["11", "queued"],
    ]);
    expect(JSON.parse((await call("GET", `/runs/${run}/status`)).text)).toMatchObject({
      current_step: 10,
      queue_size: 1,
    });
    expect((await call("POST", `/runs/${copy}/fork`, { from: run })).status).toBe(409);
    expect((await call("POST", `/runs/${freshRun()}/fork`, { from: run, step: 3 })).text).toContain(
      "steps 7 to 10 can be",
    );
    expect((await call("POST", `/runs/${freshRun()}/fork`, { from: freshRun() })).status).toBe(404);
  });

  test("metrics tell what was done", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, REGISTRATION);
    await post(run, GROUP);
    await call("GET", `/runs/${run}/batch?lease=60`);
    await call("POST", `/runs/${run}/batches/1/ack`);
    const { text, headers } = await call("GET", `/runs/${run}/metrics`);
    expect(headers.get("content-type")).toContain("text/plain; version=0.0.4");
    for (const line of [
      `lachesis_step{run="${run}"} 1`,
      `lachesis_acknowledged_batches_total{run="${run}"} 1`,
      `lachesis_batch_staleness_steps_bucket{run="${run}",le="0"} 1`,
      `lachesis_group_sequences_sum{run="${run}"} 2`,
      `lachesis_stalled{run="${run}"} 0`,
    ])
      expect(text).toContain(`${line}\n`);
  });

  test("what the run's filters drop is received, and can be looked at", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...settings, filters: { equal_scores: true } });
    const dropped = await post(run, { ...GROUP, scores: [1, 1] });
    expect(dropped.text).toBe('{"status":"received","filtered":"equal_scores"}');
    const { dropped: list } = JSON.parse((await call("GET", `/runs/${run}/dropped`)).text);
    expect(list).toMatchObject([{ reason: "equal_scores", sequences: 2 }]);
    const whole = await call("GET", `/runs/${run}/dropped/${list[0].group}`);
    expect(JSON.parse(whole.text)).toMatchObject({ scores: [1, 1] });
    expect((await call("GET", `/runs/${run}/dropped/99`)).status).toBe(404);
  });
});
