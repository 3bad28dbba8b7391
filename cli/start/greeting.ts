import { DEFAULT_STATE, type StartOptions } from "./options.ts";

export interface Greeting {
  readonly options: StartOptions;
  readonly url: string;
  /** The state folder, as the person knows it. */
  readonly state: string;
}

/** What is said when the server is up: what runs, where, and what to do next. */
export function greeting({ options, url, state }: Greeting): string {
  const { auth, environments, generation, run } = options;
  const access = auth
    ? `by token: npx lachesis token --role trainer${state === DEFAULT_STATE ? "" : ` --state ${state}`}`
    : "open to this machine; --auth asks for tokens";
  const lines = [
    `Lachesis is up at ${url}`,
    `  state         ${options.state === null ? `${state}, gone when this ends` : state}`,
    `  access        ${access}`,
    `  reference     ${url}/docs`,
  ];
  if (generation.kind !== "none") {
    lines.push(`  environments  ${environments.map(({ name }) => name).join(", ")}, in the run ${run}`);
    lines.push(`  policy        ${policyText(options)}`);
    lines.push(`  trainer       ${trainerText(options)}`);
  }
  return `${lines.join("\n")}\n\n${next(options, url)}\nCtrl-C stops it.\n`;
}

function policyText({ generation }: StartOptions): string {
  return generation.kind === "endpoint"
    ? `${generation.model} at ${generation.url} (${generation.backend})`
    : "a tiny transformer, served on this machine";
}

function trainerText({ generation }: StartOptions): string {
  if (generation.kind !== "reference") return "none. Start yours; rollouts begin once it registers";
  const steps = generation.steps === null ? "" : `, ${generation.steps} steps`;
  return `GRPO on batches of ${generation.batchSize} sequences${steps}`;
}

function next({ generation, run }: StartOptions, url: string): string {
  const base = run === "default" ? url : `${url}/runs/${run}`;
  const lines = [["why no batch is ready", `curl '${base}/status?explain'`]];
  if (generation.kind === "none") lines.push(["an Atropos environment", `--env.rollout_server_url ${base}`]);
  if (generation.kind !== "reference") {
    lines.push(["an Atropos trainer", `${base} as its API URL`], ["other runs", `${url}/runs/NAME`]);
  }
  return `Try next:\n${lines.map(([what, how]) => `  ${`${what}:`.padEnd(25)}${how}`).join("\n")}`;
}
