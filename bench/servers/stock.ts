/** The stock server, as `run-api` of the Python package runs it. */
import { execFile } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort, type Server, startServer } from "./server.ts";

export const STOCK_PACKAGE = "atroposlib==0.4.0";

const run = promisify(execFile);

/** @param progress told what takes long */
export async function startStock(root: string, progress: (message: string) => void): Promise<Server> {
  const venv = join(root, ".lachesis/bench-venv");
  const python = join(venv, "bin/python");
  if (!(await hasStock(python))) await install(venv, python, progress);
  const port = await freePort();
  const args = ["--host", "127.0.0.1", "--port", String(port)];
  const log = join(root, ".lachesis/bench-stock.log");
  return startServer("the stock server", join(venv, "bin/run-api"), args, { port, cwd: venv, log });
}

async function hasStock(python: string): Promise<boolean> {
  const check = `import importlib.metadata as m, atroposlib.api.server; print("atroposlib==" + m.version("atroposlib"))`;
  try {
    return (await run(python, ["-c", check])).stdout.trim() === STOCK_PACKAGE;
  } catch {
    return false;
  }
}

async function install(venv: string, python: string, progress: (message: string) => void): Promise<void> {
  await checkPython();
  progress(`installing ${STOCK_PACKAGE} into ${venv}: about 1 GB and two minutes, once`);
  await rm(venv, { recursive: true, force: true });
  await mkdir(venv, { recursive: true });
  await orExplain(
    "cannot make a Python virtual environment (on Debian and Ubuntu: apt install python3-venv)",
    run("python3", ["-m", "venv", venv]),
  );
  await orExplain(
    `cannot install ${STOCK_PACKAGE}`,
    run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", STOCK_PACKAGE]),
  );
}

async function checkPython(): Promise<void> {
  const { stdout } = await orExplain(
    "--against-stock runs the stock server and needs python3 (3.10 or newer) on the PATH",
    run("python3", ["-c", "import sys; print(sys.version_info >= (3, 10), sys.version)"]),
  );
  if (!stdout.startsWith("True")) {
    throw new Error(`--against-stock needs python3 3.10 or newer, found ${stdout.replace("False ", "").trim()}`);
  }
}

async function orExplain<T>(explanation: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(`${explanation}\n${(stderr || message).trim()}`, { cause: error });
  }
}
