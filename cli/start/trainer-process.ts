import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { USAGE_EXIT_CODE } from "../run-command.ts";
import { endTogether } from "../server/processes.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STOP_WITHIN_MS = 5_000;

const summary = { steps: z.int(), reward_first: z.number().nullable(), reward_last: z.number().nullable() };

/** What the trainer tells of itself that is acted on here. */
const trainerEvent = z.discriminatedUnion("event", [
  z.object({ event: z.literal("serving"), url: z.string() }),
  z.object({ event: z.literal("published") }),
  z.object({ event: z.literal("registered"), step: z.int() }),
  z.object({ event: z.literal("resumed"), step: z.int(), ...summary }),
  z.looseObject({ event: z.literal("step"), step: z.int(), reward_mean: z.number() }),
  z.object({ event: z.literal("finished"), ...summary }),
  z.object({ event: z.literal("stopped"), ...summary }),
]);
export type TrainerEvent = z.infer<typeof trainerEvent>;

export interface TrainerOptions {
  readonly args: readonly string[];
  readonly token: string | undefined;
  readonly onEvent: (event: TrainerEvent) => void;
  /** A line for a person. */
  readonly onLine: (line: string) => void;
}

/** How the trainer ended: null for well. */
export type TrainerEnd = { readonly message: string; readonly exitCode: number } | null;

/** trainer/main.ts as a process of its own, which ends with this one whatever happens. */
export class TrainerProcess {
  readonly ended: Promise<TrainerEnd>;
  readonly #child: ChildProcess;

  constructor({ args, token, onEvent, onLine }: TrainerOptions) {
    const { AUTH_SECRET: _, LACHESIS_TOKEN: __, ...environment } = process.env;
    this.#child = spawn(process.execPath, ["trainer/main.ts", ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...environment, ...(token === undefined ? {} : { LACHESIS_TOKEN: token }) },
      // Its own group: Ctrl-C on the terminal is for the command, which then stops it in good order.
      detached: true,
    });
    const callOff = this.#child.pid === undefined ? () => undefined : endTogether([this.#child.pid]);
    forEachLine(this.#child.stdout, (line) => {
      const event = trainerEvent.safeParse(JSON.parse(line));
      if (event.success) onEvent(event.data);
    });
    forEachLine(this.#child.stderr, onLine);
    this.ended = new Promise((resolve) => {
      const end = (how: TrainerEnd) => {
        callOff();
        resolve(how);
      };
      this.#child.once("error", ({ message }) =>
        end({ message: `the trainer can't be started: ${message}`, exitCode: 1 }),
      );
      // "close" comes after the last line was read, "exit" may come before.
      this.#child.once("close", (code, signal) => {
        const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
        if (code === 0) end(null);
        else
          end({ message: `the trainer ended with ${how}`, exitCode: code === USAGE_EXIT_CODE ? USAGE_EXIT_CODE : 1 });
      });
    });
  }

  /** Lets it save a checkpoint; kills it if that takes long. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_WITHIN_MS);
    this.#child.kill("SIGTERM");
    await this.ended;
    clearTimeout(timer);
  }
}

function forEachLine(stream: NodeJS.ReadableStream | null, use: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on("line", use);
}
