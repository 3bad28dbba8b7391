import type { Inference, Renderer } from "./inference/index.ts";
import {
  type Rollout,
  type SampleGroupOptions,
  sampleGroup,
  Trajectory,
  type TrajectoryOptions,
  type TurnOptions,
} from "./trajectory/index.ts";

type EpisodeOptions = Omit<TrajectoryOptions, "inference" | "renderer">;
type SampleOptions = Partial<Omit<SampleGroupOptions, "inference" | "renderer" | "n" | "messages">>;

/** The model that is trained, as a lease's endpoint serves it, with the config's way of sampling. */
export class Policy {
  readonly inference: Inference;
  readonly renderer: Renderer;
  /** For a trajectory's turns; spread it to change a part. */
  readonly sampling: TurnOptions;

  constructor(inference: Inference, renderer: Renderer, sampling: TurnOptions) {
    this.inference = inference;
    this.renderer = renderer;
    this.sampling = sampling;
  }

  /**
   * Starts an episode of several turns.
   *
   * @example
   * const trajectory = policy.trajectory({ messages });
   * const turn = await trajectory.turn(policy.sampling);
   */
  trajectory(options: EpisodeOptions = {}): Trajectory {
    return new Trajectory({ ...options, inference: this.inference, renderer: this.renderer });
  }

  /** Samples n rollouts of one turn after the same chat. @throws InferenceError */
  sample(messages: SampleGroupOptions["messages"], n: number, options: SampleOptions = {}): Promise<Rollout[]> {
    const { inference, renderer, sampling } = this;
    return sampleGroup({ ...sampling, ...options, inference, renderer, messages, n });
  }
}
