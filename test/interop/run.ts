/**
 * `npm run test:interop`: runs the real Python clients, from PyPI, against Lachesis.
 *
 * Keeps a virtual environment in `.lachesis/interop-venv` and hands the rest to pytest. The last line printed is
 * `N passed, N failed[, N skipped]`. Tests are skipped only where PyPI can't be reached; anything else that keeps them
 * from running is a failure.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { readOptions } from "../../cli/options.ts";
import { runCommand } from "../../cli/run-command.ts";

const HELP = `usage: npm run test:interop -- [-k WORDS] [-x] [--stock]

  -k, --only       run the tests whose names match, as pytest reads it: one, or "one and not two"
  -x, --exitfirst  end at the first failure
  --stock          run against Atropos' own server, to check the tests themselves`;

const OPTIONS = {
  only: { type: "string", short: "k" },
  exitfirst: { type: "boolean", short: "x", default: false },
  stock: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

const HERE = import.meta.dirname;
const REPOSITORY = resolve(HERE, "../..");
const VENV = join(REPOSITORY, ".lachesis", "interop-venv");
const VENV_PYTHON = join(VENV, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
const REQUIREMENTS = join(HERE, "requirements.txt");

const PYTHONS = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
const IS_RECENT = "import sys, venv; sys.exit(sys.version_info < (3, 11))";

/** What pip prints when it got no answer at all, as against an answer it did not like. */
const NO_CONNECTION = /connection broken by|connection error|Could not fetch URL|Connection to .* timed out/i;

/** Exits 0 if every `name==version` of the file given is installed. Quicker than asking pip, and needs no network. */
const IS_SATISFIED = `
import sys
from importlib.metadata import PackageNotFoundError, version
for line in open(sys.argv[1]):
    name, _, pinned = line.split("#")[0].strip().partition("==")
    try:
        satisfied = not name or version(name) == pinned
    except PackageNotFoundError:
        satisfied = False
    if not satisfied:
        sys.exit(1)
`;

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

interface Finished {
  code: number;
  output: string;
}

/** Runs a command to its end. `show` lets its output through as it comes; it is returned either way. */
function run(command: string, args: string[], show: boolean, env: NodeJS.ProcessEnv = process.env): Promise<Finished> {
  return new Promise((done) => {
    const child = spawn(command, args, { cwd: REPOSITORY, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const take = (chunk: Buffer) => {
      output += chunk.toString();
      if (show) process.stdout.write(chunk);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", (error) => done({ code: 127, output: `${output}${error.message}\n` }));
    child.on("close", (code) => done({ code: code ?? 1, output }));
  });
}

const pip = (args: string[], show: boolean) =>
  run(VENV_PYTHON, ["-m", "pip", "--disable-pip-version-check", "--no-input", ...args], show);

async function findPython(): Promise<string | null> {
  for (const python of PYTHONS) {
    if ((await run(python, ["-c", IS_RECENT], false)).code === 0) return python;
  }
  return null;
}

async function isSatisfied(): Promise<boolean> {
  return (await run(VENV_PYTHON, ["-c", IS_SATISFIED, REQUIREMENTS], false)).code === 0;
}

/** Asks for the one package everything depends on, with pip itself: it alone knows its index, proxy and certificates. */
async function isPyPIReachable(): Promise<boolean> {
  const probe = await pip(["index", "versions", "atroposlib", "--retries", "1", "--timeout", "15"], false);
  return !NO_CONNECTION.test(probe.output);
}

/** Makes the virtual environment hold what requirements.txt pins. Says what went wrong, or null. */
async function prepareVenv(): Promise<{ failed: string } | { skipped: string } | null> {
  if (await isSatisfied()) return null;
  await rm(VENV, { recursive: true, force: true });
  console.log(`Making ${VENV} (about 1 GB; kept for the next time)`);
  const python = await findPython();
  if (python === null) return { failed: `Python 3.11 or newer with venv is needed; tried ${PYTHONS.join(", ")}` };
  const made = await run(python, ["-m", "venv", VENV], true);
  if (made.code !== 0) return { failed: `${python} could not make ${VENV}` };
  const installed = await pip(["install", "--quiet", "--requirement", REQUIREMENTS], true);
  if (installed.code === 0) return null;
  if (await isPyPIReachable()) return { failed: "pip could not install test/interop/requirements.txt" };
  return { skipped: "PyPI can't be reached, and the Python clients come from there" };
}

/** The tests by name, for saying which ones were skipped when there is no pytest to ask. */
async function testNames(): Promise<string[]> {
  const files = (await readdir(HERE)).filter((name) => /^test_.*\.py$/.test(name)).sort();
  const names = files.map(async (file) => {
    const text = await readFile(join(HERE, file), "utf8");
    return [...text.matchAll(/^def (test_\w+)/gm)].map(([, name]) => `${file}::${name}`);
  });
  return (await Promise.all(names)).flat();
}

async function runPytest(args: string[]): Promise<Counts> {
  const folder = await mkdtemp(join(tmpdir(), "lachesis-interop-"));
  const report = join(folder, "report.xml");
  try {
    const options = ["-p", "no:cacheprovider", "-v", "-rs", "--tb=short", `--junitxml=${report}`, "--basetemp"];
    const env = { ...process.env, LACHESIS_NODE: process.execPath, PYTHONDONTWRITEBYTECODE: "1" };
    const command = ["-m", "pytest", HERE, "--rootdir", HERE, ...options, join(folder, "tests"), ...args];
    const { code } = await run(VENV_PYTHON, command, true, env);
    const counts = readReport(await readFile(report, "utf8").catch(() => ""));
    // A crash, a usage error or an empty selection is no success, whatever the report says.
    return code === 0 ? counts : { ...counts, failed: Math.max(1, counts.failed) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readReport(xml: string): Counts {
  const suite = xml.match(/<testsuite [^>]*>/)?.[0] ?? "";
  const count = (name: string) => Number(suite.match(new RegExp(` ${name}="(\\d+)"`))?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  const skipped = count("skipped");
  return { passed: Math.max(0, count("tests") - failed - skipped), failed, skipped };
}

async function count(pytestArguments: string[]): Promise<Counts> {
  const problem = await prepareVenv();
  if (problem === null) return runPytest(pytestArguments);
  if ("failed" in problem) {
    console.log(problem.failed);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const names = await testNames();
  for (const name of names) console.log(`skipped ${name}: ${problem.skipped}`);
  return { passed: 0, failed: 0, skipped: names.length };
}

async function main(): Promise<void> {
  const { only, exitfirst, stock, help } = readOptions(process.argv.slice(2), OPTIONS, HELP);
  if (help) return console.log(HELP);
  const { passed, failed, skipped } = await count([
    ...(only === undefined ? [] : ["-k", only]),
    ...(exitfirst ? ["-x"] : []),
    ...(stock ? ["--stock"] : []),
  ]);
  process.exitCode = failed > 0 ? 1 : 0;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
}

await runCommand(main);
