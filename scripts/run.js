// Runs a script of this project: installs what the lock file says if that hasn't been done, then hands over to the Node
// that came with it. This file itself has to run on any Node that runs npm, so it is plain JavaScript without dependencies.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ownNode = join(root, "node_modules", ".bin", "node");

/** Whether node_modules holds every package of the lock file, in its version. */
function isInstalled() {
  const installed = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installed) || !existsSync(ownNode)) return false;
  const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  const present = JSON.parse(readFileSync(installed, "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === "" || optional || present[path]?.version === version,
  );
}

function install() {
  console.error("Installing what package-lock.json names (once; a minute or two) …");
  const npm = process.env.npm_execpath;
  // On an older Node npm warns of packages that want a newer one; they get it from the lock file.
  const options = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const [command, args] = npm ? [process.execPath, [npm, ...options]] : ["npm", options];
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

const [script, ...args] = process.argv.slice(2);
if (!script) {
  console.error("usage: node scripts/run.js SCRIPT [ARGUMENT …]");
  process.exit(2);
}
if (!isInstalled()) install();

const child = spawn(ownNode, [join(root, script), ...args], { stdio: "inherit" });
// Ctrl-C reaches the child by itself, as it does everything on this terminal; what is sent to this process alone does not.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
// npm hands a signal to the shell in between, which ends without a word to us: then we have another parent.
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) child.kill("SIGTERM");
}, 500).unref();
child.on("error", (error) => {
  console.error(`can't run ${ownNode}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
