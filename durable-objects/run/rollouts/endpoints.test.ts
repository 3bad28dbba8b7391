import { afterEach, describe, expect, test, vi } from "vitest";
import { ENDPOINT, environment, later, lease, leased, only, outcomes, ready } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("endpoints", () => {
  const two = [ENDPOINT, { ...ENDPOINT, url: "http://gpu-1" }];

  test("the least loaded one is named, for its limit", async () => {
    const { run } = await ready({ batch_size: 32 });
    const small = { ...ENDPOINT, url: "http://gpu-1", max_training_requests: 8 };
    await run.publishPolicy(null, [{ ...ENDPOINT, max_training_requests: 24 }, small]);
    const urls = (await leased(run, 20)).map(({ endpoint }) => endpoint.url);
    expect(urls).toHaveLength(16);
    expect(urls.slice(0, 8).filter((url) => url === small.url)).toHaveLength(2);
    expect(await lease(run)).toMatchObject({ status: "none", reason: "endpoints_busy" });
  });

  test("one that fails is left, rests after three failures, and is tried with one lease", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run } = await ready({ batch_size: 32 });
    await run.publishPolicy(null, two);
    const failure = { reason: "inference_timeout", message: "", endpointFault: true };
    const onFirst = (await leased(run, 6)).filter(({ endpoint }) => endpoint.url === "http://gpu-0");
    for (const { lease_id } of onFirst)
      expect(await run.renewRollout(lease_id, failure)).toMatchObject({
        lease: { endpoint: { url: "http://gpu-1" } },
      });
    expect((await run.policyStatus()).endpoints).toMatchObject([{ healthy: false, failures: 3 }, { healthy: true }]);
    expect((await leased(run, 6)).map(({ endpoint }) => endpoint.url)).toEqual(Array(6).fill("http://gpu-1"));
    later(5_000);
    const tried = (await leased(run, 6)).filter(({ endpoint }) => endpoint.url === "http://gpu-0");
    expect(tried).toHaveLength(1);
    await run.closeRollout(tried[0]?.lease_id ?? 0, { outcome: "skipped", reason: "x", endpointFault: false });
    expect((await run.policyStatus()).endpoints).toMatchObject([{ healthy: true, failures: 0 }, {}]);
    expect(await outcomes(run)).toMatchObject({ retried: { inference_timeout: 3 } });
  });

  test("none, or all resting: the environment is told, and waits", async () => {
    const { run } = await ready();
    await run.publishPolicy(null, []);
    expect(await lease(run)).toMatchObject({ status: "none", reason: "no_endpoint" });
    await run.publishPolicy(null, [ENDPOINT]);
    const { lease_id } = await only(run);
    for (let i = 0; i < 3; i++) await run.renewRollout(lease_id, { reason: "x", message: "", endpointFault: true });
    expect(await lease(run)).toMatchObject({ status: "none", reason: "endpoints_unhealthy" });
  });

  test("an environment that waits with two requests is one that waits", async () => {
    const { run } = await ready();
    await run.publishPolicy(null, []);
    await run.registerEnvironment(environment("other"));
    const waiting = [0, 0, 1].map((id) => run.leaseRollouts(id, 1, 30_000));
    await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(2);
    await run.publishPolicy(null, [ENDPOINT]);
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe("leased");
  });

  test("what keeps environments waiting is said where a person looks for it", async () => {
    const { run } = await ready();
    await run.publishPolicy(null, []);
    const waiting = run.leaseRollouts(0, 1, 30_000);
    await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(1);
    const { explain, admission } = await run.overview();
    expect(admission.blocked?.reason).toBe("no_endpoint");
    expect(explain.message).toMatch(/4 sequences are missing.*no inference endpoint is known/);
    await run.publishPolicy(null, [ENDPOINT]);
    expect(await waiting).toMatchObject({ status: "leased" });
  });

  const withoutRoom: readonly (readonly [string, (typeof ENDPOINT)[]])[] = [
    ["none", []],
    ["one that has no room", [{ ...ENDPOINT, url: "http://busy", max_training_requests: 1 }]],
  ];
  test.each(withoutRoom)(
    "a lease whose endpoint was replaced by %s goes on, and its failures count",
    async (_, endpoints) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const { run } = await ready();
      const { lease_id } = await only(run);
      await run.publishPolicy(null, endpoints);
      if (endpoints.length > 0) await only(run);
      later(45_000);
      const failure = { reason: "inference_timeout", message: "", endpointFault: true };
      expect(await run.renewRollout(lease_id, failure)).toEqual({ status: "no_endpoint" });
      expect(await outcomes(run)).toEqual({ retried: { inference_timeout: 1 } });
      later(45_000);
      expect(await run.followUpRollout(lease_id, ['"next"'])).toEqual({ status: "noted" });
      await run.publishPolicy(null, [{ ...ENDPOINT, url: "http://new" }]);
      expect(await run.renewRollout(lease_id, null)).toMatchObject({ lease: { endpoint: { url: "http://new" } } });
      await run.closeRollout(lease_id, { outcome: "skipped", reason: "given_up", endpointFault: false });
      expect((await leased(run, 2)).map(({ backlog }) => backlog)).toContain('"next"');
    },
  );

  test("a lease whose endpoint was replaced goes on with another", async () => {
    const { run } = await ready();
    const { lease_id } = await only(run);
    await run.publishPolicy(null, [{ ...ENDPOINT, url: "http://new" }]);
    expect(await run.renewRollout(lease_id, null)).toMatchObject({ lease: { endpoint: { url: "http://new" } } });
  });
});
