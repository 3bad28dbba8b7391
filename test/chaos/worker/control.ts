import { z } from "zod";
import { shardName } from "../../../durable-objects/names.ts";
import { DEFAULT_RUN } from "../../../src/wire/names.ts";
import { setCommitFaults } from "./commit-faults.ts";

const query = z.object({
  action: z.enum(["evict", "work", "payloads", "faults"]),
  object: z.union([z.literal("run"), z.coerce.number().int()]).default("run"),
  rate: z.coerce.number().default(0),
});

/** What the campaign asks for: `/__chaos/?action=evict&object=run`, or a shard's number as the object. */
export async function control(request: Request, env: Env): Promise<Response> {
  const { action, object, rate } = query.parse(Object.fromEntries(new URL(request.url).searchParams));
  if (action === "faults") {
    setCommitFaults(rate);
    return new Response();
  }
  const stub =
    object === "run" ? env.RUN.getByName(DEFAULT_RUN) : env.PAYLOAD_SHARD.getByName(shardName(DEFAULT_RUN, object));
  try {
    return await stub.fetch(`http://object/${action}`);
  } catch (error) {
    // An object that is evicted can't answer.
    return new Response(String(error), { status: action === "evict" ? 200 : 500 });
  }
}
