import type { z } from "zod";
import type { Environment } from "../define.ts";
import type { Rollout } from "../trajectory/index.ts";
import { messageOf } from "./log.ts";
import type { Runtime } from "./runtime.ts";

/** `GET /`: name, run, settings (secrets are no settings), and what the run says of this environment. */
export async function statusPage<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  request: Request,
  { name, definition }: Environment<Own, Item, State, R>,
  begin: () => { readonly runtime: Runtime; readonly config: unknown },
): Promise<Response> {
  if (new URL(request.url).pathname !== "/") return json({ detail: "only / is here" }, 404);
  if (request.method !== "GET" && request.method !== "HEAD") return json({ detail: "only GET is answered" }, 405);
  const about = { environment: name, description: definition.description ?? null };
  try {
    const { runtime, config } = begin();
    return json({ ...about, run: runtime.run, config, ...(await atTheRun(runtime)) }, 200);
  } catch (error) {
    return json({ ...about, error: messageOf(error) }, 500);
  }
}

/** The run numbers an environment's name when it registers. */
async function atTheRun({ client, name }: Runtime) {
  try {
    const { environments } = await client.environments();
    const own = environments.filter((one) => one.name === name || one.name.replace(/_\d+$/, "") === name);
    return { status: own.at(-1) ?? null, error: null };
  } catch (error) {
    return { status: null, error: messageOf(error) };
  }
}

function json(body: object, status: number): Response {
  return Response.json(body, { status });
}
