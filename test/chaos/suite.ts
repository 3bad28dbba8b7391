import { check } from "../system/checks.ts";
import { chaos, mutationOf } from "./campaign.ts";
import { MUTATIONS } from "./mutations.ts";
import { print } from "./print.ts";

/** A sound server passes a campaign. */
export async function soundServer(seed: number, seconds: number): Promise<void> {
  const verdict = await chaos({ seed, seconds });
  print(verdict);
  check(`${seconds} s of faults, seed ${seed}`, verdict.passed);
}

/** Each broken server is found out, by the check that is there for it. */
export async function mutations(seed: number, seconds: number): Promise<void> {
  for (const name of Object.keys(MUTATIONS)) {
    const { what, caughtBy } = mutationOf(name);
    const { findings } = await chaos({ seed, seconds, mutation: name });
    const faults = findings.find((finding) => finding.check === caughtBy)?.faults ?? [];
    const detail = faults[0] ?? `"${caughtBy}" found nothing`;
    check(`a server is found out in which ${what}`, faults.length > 0, detail);
  }
}
