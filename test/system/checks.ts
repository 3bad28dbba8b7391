let failed = 0;
let passed = 0;

/** Prints what holds or not, and counts it. */
export function check(what: string, holds: boolean, detail = ""): void {
  if (holds) passed += 1;
  else failed += 1;
  console.log(`${holds ? "PASS" : "FAIL"} ${what}${detail === "" ? "" : `: ${detail}`}`);
}

/** The total, as the last line, and the exit code. */
export function finish(): void {
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
