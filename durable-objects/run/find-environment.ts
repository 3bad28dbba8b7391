import type { FoundEnvironmentStatus, WhichEnvironment } from "./answers.ts";
import type { Environment, Environments } from "./environments.ts";

/** The environment a poll is about: by id, else by the label of its path, else the only one that is connected. */
export function findEnvironment(
  environments: Environments,
  { id, label }: WhichEnvironment,
): Exclude<FoundEnvironmentStatus, { status: "found" }> | { status: "environment"; environment: Environment } {
  if (id !== null) {
    const environment = environments.get(id);
    if (environment === undefined) return { status: "unknown", id, registered: environments.count };
    return { status: "environment", environment };
  }
  if (label !== null) {
    const environment = environments.labelled(label);
    return environment === undefined ? { status: "unknown_label", label } : { status: "environment", environment };
  }
  const connected = environments.connected();
  const [only] = connected;
  if (connected.length !== 1 || only === undefined) return { status: "ambiguous", connected: connected.length };
  return { status: "environment", environment: only };
}
