import { spawnSync } from "node:child_process";

/** What `npm run check` runs, in order: all of it, so that one run tells everything. */
const CHECKS: readonly (readonly [name: string, script: string, ...args: string[]])[] = [
  ["types of the Workers", "node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.json"],
  ["types of what runs in Node", "node_modules/typescript/bin/tsc", "--noEmit", "-p", "tsconfig.node.json"],
  ["lint and format", "node_modules/@biomejs/biome/bin/biome", "check", "."],
  ["generated Env types", "node_modules/wrangler/bin/wrangler.js", "types", "--include-runtime=false", "--check"],
  ["generated Env types of the environments", "scripts/environment-types.ts", "--check"],
];

const failed = CHECKS.filter(([name, ...command]) => {
  console.log(`— ${name}`);
  return spawnSync(process.execPath, command, { stdio: "inherit" }).status !== 0;
});
for (const [name] of failed) console.error(`failed: ${name}`);
process.exit(failed.length === 0 ? 0 : 1);
