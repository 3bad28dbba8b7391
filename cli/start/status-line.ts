import type { Client, Overview } from "../../src/client/client.ts";
import { RewardTrend } from "./reward-trend.ts";
import { statusText } from "./status-text.ts";

const POLL_MS = 1_000;

/** Without a terminal a line is printed when something changed, this often at most. */
const PLAIN_EVERY_MS = 10_000;

/** Follows a run and shows one line of how it does: in place on a terminal, as plain lines elsewhere. */
export class StatusLine {
  readonly rewards = new RewardTrend();
  readonly #client: Client;
  readonly #run: string;
  /** The step at which the run ends, if it does. */
  readonly #steps: number | null;
  readonly #out: NodeJS.WriteStream;
  #last: { at: number; received: number } | null = null;
  #printed = { at: Number.NEGATIVE_INFINITY, line: "" };
  #timer: NodeJS.Timeout | null = null;

  constructor(client: Client, run: string, steps: number | null, out: NodeJS.WriteStream) {
    this.#client = client;
    this.#run = run;
    this.#steps = steps;
    this.#out = out;
  }

  start(): void {
    this.#timer = setTimeout(() => this.#tick(), 0);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#clear();
  }

  /** Prints a line of its own, above the status. */
  log(line: string): void {
    this.#clear();
    this.#out.write(`${line}\n`);
    if (this.#out.isTTY) this.#out.write(this.#printed.line);
  }

  async #tick(): Promise<void> {
    const line = await this.#client.overview().then(
      (overview) => this.#describe(overview),
      (error: unknown) => `no status: ${error instanceof Error ? error.message : String(error)}`,
    );
    if (this.#timer === null) return;
    this.#show(line);
    this.#timer = setTimeout(() => this.#tick(), POLL_MS);
  }

  #describe({ current_step, queue_size, received_groups: received, explain, environments, trainer }: Overview): string {
    const now = performance.now();
    const rate =
      this.#last === null ? 0 : Math.max(0, ((received - this.#last.received) * 1000) / (now - this.#last.at));
    this.#last = { at: now, received };
    const reward = trainer?.metrics["reward_mean"];
    if (reward !== undefined) this.rewards.add(trainer?.step ?? current_step, reward);
    return statusText({
      run: this.#run,
      step: current_step,
      steps: this.#steps,
      rewards: this.rewards.means,
      groups: queue_size,
      environments: environments.alive,
      groupsPerSecond: rate,
      reason: explain.message,
    });
  }

  #show(line: string): void {
    if (this.#out.isTTY) {
      this.#clear();
      this.#printed.line = line.slice(0, Math.max(20, this.#out.columns - 1));
      this.#out.write(this.#printed.line);
      return;
    }
    const now = performance.now();
    if (line === this.#printed.line || now - this.#printed.at < PLAIN_EVERY_MS) return;
    this.#printed = { at: now, line };
    this.#out.write(`${line}\n`);
  }

  #clear(): void {
    if (this.#out.isTTY) this.#out.write("\r\u001b[K");
  }
}
