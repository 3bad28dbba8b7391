import type { StartOptions } from "./options.ts";

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
    ? `by token: npx lachesis token --role trainer (or environment, viewer, admin)${state === ".lachesis" ? "" : ` --state ${state}`}`
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
  switch (generation.kind) {
    case "reference":
      return `GRPO on batches of ${generation.batchSize} sequences${generation.steps === null ? "" : `, ${generation.steps} steps`}`;
    case "endpoint":
      return "none: the reference trainer can only train its own policy. Start yours; rollouts begin once it registers";
    default:
      return "none. Start yours; rollouts begin once it registers";
  }
}

function next({ generation, run }: StartOptions, url: string): string {
  const base = run === "default" ? url : `${url}/runs/${run}`;
  const curl = `  curl '${base}/status?explain'${" ".repeat(Math.max(1, 27 - (base.length - url.length)))}why no batch is ready`;
  if (generation.kind === "reference") return `Try next:\n${curl}`;
  const trainer = `  an Atropos trainer:      ${base} as its API URL; other runs are at ${url}/runs/NAME`;
  if (generation.kind !== "none") return `Try next:\n${curl}\n${trainer}`;
  return `Try next:\n${curl}\n  an Atropos environment:  --env.rollout_server_url ${base}\n${trainer}`;
}
