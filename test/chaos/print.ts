import type { Verdict } from "./campaign.ts";

const SHOWN = 5;

/** For a person: what was done, each check, and the verdict as the last line. */
export function print({ seed, mutation, passed, counts, findings }: Omit<Verdict, "history">): void {
  console.log(
    Object.entries(counts)
      .map(([what, times]) => `${times} ${what.replaceAll("_", " ")}`)
      .join(", "),
  );
  for (const { check, checked, faults } of findings) {
    console.log(`${faults.length === 0 ? "ok  " : "FAIL"} ${check} (${checked} checked)`);
    for (const fault of faults.slice(0, SHOWN)) console.log(`       ${fault}`);
    if (faults.length > SHOWN) console.log(`       and ${faults.length - SHOWN} more`);
  }
  console.log(`${passed ? "PASS" : "FAIL"} seed ${seed}${mutation === null ? "" : `, mutation ${mutation}`}`);
}
