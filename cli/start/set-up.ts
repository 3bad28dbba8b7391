import { z } from "zod";
import type { LocalServer } from "../server/local-server.ts";
import { UsageError } from "../usage-error.ts";

/** What a Worker of the kit answers when preset, settings or bindings are wrong. */
const fault = z.looseObject({ error: z.string() });
const FAULT_STATUS = 500;
const REMEDY = '--preset NAME and --config NAME=JSON say what environments run with; --preset "" is none';

/**
 * Asks each environment's Worker how it is doing: one that is set up wrong does nothing, for ever.
 * @throws UsageError in the Workers' words.
 */
export async function assertSetUp(
  server: Pick<LocalServer, "workers" | "get">,
  names: readonly string[],
): Promise<void> {
  const answers = await Promise.all(server.workers.map((worker) => server.get(worker, "/")));
  const faults = answers.flatMap(({ status, text }, index) => {
    if (status !== FAULT_STATUS) return [];
    return [`the environment ${names[index]} can't run: ${read(text)}`];
  });
  if (faults.length > 0) throw new UsageError(`${faults.join("\n")}\n${REMEDY}`);
}

/** A Worker that isn't the kit's answers in words of its own. */
function read(text: string): string {
  try {
    return fault.parse(JSON.parse(text)).error;
  } catch {
    return text;
  }
}
