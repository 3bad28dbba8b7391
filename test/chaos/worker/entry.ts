import { PayloadShard as ProductionShard } from "../../../durable-objects/payload-shard/durable-object.ts";
import { Run as ProductionRun } from "../../../durable-objects/run/durable-object.ts";
import { app } from "../../../src/app.ts";
import { faultyCommits } from "./commit-faults.ts";
import { control } from "./control.ts";
import { evict } from "./evict.ts";
import { payloadsOfRun, payloadsOfShard } from "./payloads.ts";

/**
 * The server as it is, and doors for the campaign that only this entry has: objects that end themselves on demand, calls
 * between them that fail, and a look at what they have stored. Production code knows nothing of it.
 */

/** Paths of the doors begin with this. */
const DOOR = "/__chaos/";

export class Run extends ProductionRun {
  override async fetch(request: Request): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case "/evict":
        return evict(this.ctx, "run");
      case "/work":
        // What the alarm does, now: at the end of a campaign nobody wants to wait for it.
        await this.alarm();
        return new Response();
      default:
        return Response.json(payloadsOfRun(this.ctx.storage.sql));
    }
  }
}

export class PayloadShard extends ProductionShard {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, { ...env, RUN: faultyCommits(ctx, env) });
  }

  override async fetch(request: Request): Promise<Response> {
    switch (new URL(request.url).pathname) {
      case "/evict":
        return evict(this.ctx, "shard");
      case "/work":
        await this.alarm();
        return new Response();
      default:
        return Response.json(payloadsOfShard(this.ctx.storage.sql));
    }
  }
}

export default {
  fetch(request: Request, env: Env, ctx: ExecutionContext) {
    return new URL(request.url).pathname.startsWith(DOOR) ? control(request, env) : app.fetch(request, env, ctx);
  },
};
