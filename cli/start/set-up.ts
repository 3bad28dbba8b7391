import { z } from "zod";
import type { LocalServer } from "../server/local-server.ts";
import { UsageError } from "../usage-error.ts";

/** What a Worker of the kit answers when preset, settings or bindings are wrong. */
const fault = z.looseObject({ error: z.string() });
const FAULT_STATUS = 500;
const REMEDY = '--preset NAME and --config NAME=JSON say what environments run with; --preset "" is none';

/**
 * Asks each environment's Worker how it is doing: one of the kit that is set up wrong does nothing, for ever. Others owe no
 * answer: they may fail at it, or have no fetch handler at all.
 * @throws UsageError in the Workers' words.
 */
export async function assertSetUp(
  server: Pick<LocalServer, "workers" | "get">,
  names: readonly string[],
): Promise<void> {
  const answers = await Promise.all(server.workers.map((worker) => server.get(worker, "/").catch(() => null)));
  const faults = answers.flatMap((answer, index) => {
    const read = answer?.status === FAULT_STATUS ? fault.safeParse(parseJson(answer.text)) : null;
    return read?.success === true ? [`the environment ${names[index]} can't run: ${read.data.error}`] : [];
  });
  if (faults.length > 0) throw new UsageError(`${faults.join("\n")}\n${REMEDY}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
