import { Hono } from "hono";
import { MAX_KEEP_STEPS } from "../../durable-objects/run/registration.ts";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { idempotencyKey } from "../ingest/request-origin.ts";
import { runStub } from "../runs.ts";
import { settingsOf } from "../settings.ts";
import { ApiError } from "../wire/api-error.ts";
import { jsonBody } from "../wire/json-body.ts";
import { answers, registerBody } from "../wire/messages.ts";
import { idempotencyHeader } from "../wire/rollouts.ts";

/** What a trainer calls before and beside its batches. */
export const trainerRoutes = new Hono<AppEnv>({ strict: false });

trainerRoutes.post(
  "/register",
  describe({
    summary: "Register a trainer",
    description:
      "The first trainer settles the run's settings. One that comes later joins it; what it asks for differently is ignored and named in the `Lachesis-Notice` header.",
    tag: "trainer",
    action: "train",
    headers: idempotencyHeader,
    body: registerBody,
    answer: answers.register,
    refusals: {
      409: "`resume_from_step` is a step the run can't go back to, or hasn't come to; or the run is being forked",
    },
  }),
  access("train"),
  async (c) => {
    const { resume_from_step, payload_shards, ...body } = await jsonBody(c.req.raw, registerBody);
    const registration = { ...body, payload_shards: payload_shards ?? settingsOf(c.env).payloadShards };
    const keep_steps = body.keep_steps ?? Math.min(MAX_KEEP_STEPS, Math.max(0, body.save_checkpoint_interval));
    const key = idempotencyKey(c.req.raw.headers, "r");
    const answer = await runStub(c).register({ ...registration, keep_steps }, resume_from_step ?? null, key);
    if (answer.status === "forking") {
      throw new ApiError(
        409,
        `this run is being forked from ${answer.from}: POST /fork again until it answers "forked", or give that up with GET /reset_data`,
      );
    }
    if (answer.status === "ahead") {
      const { step, hasBegun } = answer;
      const why = hasBegun
        ? `it is at step ${step}; resume from there or an earlier step, or, if it is to go on from your checkpoint, GET /reset_data and register with starting_step ${resume_from_step}`
        : `it has not begun, and would at starting_step ${step}; register with starting_step ${resume_from_step}, or without resume_from_step`;
      throw new ApiError(409, `the run can't go on from step ${resume_from_step}: ${why}`);
    }
    if (answer.status === "not_kept") {
      const { step, keptFrom } = answer;
      const kept = keptFrom > step ? "none is kept" : `steps ${keptFrom} to ${step} are kept`;
      throw new ApiError(
        409,
        `the run can't go back to step ${resume_from_step}: ${kept} (keep_steps and keep_bytes say how many); resume from step ${keptFrom - 1} or a later one, or without resume_from_step`,
      );
    }
    const { ignored } = answer;
    if (ignored.length > 0) {
      // A header is ASCII; settings may be anything.
      const notice = `this run is registered already: ${ignored.join("; ")}`.replaceAll(/[^\x20-\x7e]/g, "?");
      c.header("Lachesis-Notice", notice.slice(0, 1024));
    }
    // 128 bits: more than a JavaScript number holds, so the digits are written out.
    const uuid = BigInt(`0x${crypto.randomUUID().replaceAll("-", "")}`);
    return c.body(`{"uuid":${uuid}}`, 200, { "content-type": "application/json" });
  },
);

trainerRoutes.get(
  "/info",
  describe({
    summary: "Batch size and longest sequence",
    description: "-1 before a trainer registers.",
    tag: "run",
    action: "read",
    answer: answers.info,
  }),
  access("read"),
  async (c) => {
    const registration = await runStub(c).registration();
    return c.json({ batch_size: registration?.batch_size ?? -1, max_token_len: registration?.max_token_len ?? -1 });
  },
);

trainerRoutes.get(
  "/wandb_info",
  describe({ summary: "Weights & Biases group and project", tag: "run", action: "read", answer: answers.wandbInfo }),
  access("read"),
  async (c) => {
    const registration = await runStub(c).registration();
    return c.json({ group: registration?.wandb_group ?? null, project: registration?.wandb_project ?? null });
  },
);

trainerRoutes.get(
  "/reset_data",
  describe({
    summary: "Forget the run",
    description:
      "Trainer, environments, queue and batches are gone, as on a fresh server. A GET, because Atropos made it one.",
    tag: "trainer",
    action: "train",
    answer: "text",
  }),
  access("train"),
  async (c) => {
    await runStub(c).reset();
    return c.text("Reset successful");
  },
);
