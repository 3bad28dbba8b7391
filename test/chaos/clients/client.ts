import type { EnvironmentScene } from "../scene.ts";
import type { Wire } from "./wire.ts";

/** What a client of an environment works with. */
export interface EnvironmentClient {
  readonly wire: Wire;
  readonly environment: number;
  readonly scene: EnvironmentScene;
  /** Whether the run tells requests without a key by their contents. */
  readonly deduplicates: boolean;
  /** Whether it goes on. What it has begun it ends in any case. */
  readonly isOn: () => boolean;
}
