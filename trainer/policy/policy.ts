import { z } from "zod";
import { readCheckpoint, writeCheckpoint } from "./checkpoint.ts";
import { type ModelConfig, type ModelOptions, modelConfig } from "./config.ts";
import { Model } from "./model.ts";
import { initialise, layoutOf } from "./parameters.ts";
import { type PretrainOptions, pretrain } from "./pretrain.ts";
import { Random } from "./random.ts";
import { VOCABULARY } from "./vocabulary.ts";

/** A model with its weights and their version. */
export class Policy {
  readonly model: Model;
  #weights: Float64Array;
  #version: number;

  constructor(model: Model, weights: Float64Array, version: number) {
    this.model = model;
    this.#weights = weights;
    this.#version = version;
  }

  get config(): ModelConfig {
    return this.model.layout.config;
  }

  /** The live weights, flat; who changes them calls {@link advance}. */
  get weights(): Float64Array {
    return this.#weights;
  }

  /** The step these weights are from. */
  get version(): number {
    return this.#version;
  }

  /** Says that the weights have changed. */
  advance(version: number = this.#version + 1): void {
    this.#version = version;
  }

  /** A checkpoint of weights, shape and version, for {@link loadPolicy}. */
  save(): Uint8Array {
    return writeCheckpoint({ config: this.config, version: this.#version, weights: this.#weights });
  }

  /**
   * Takes over the weights and version of a checkpoint, in the middle of running completions too.
   * @throws CheckpointError when it isn't a checkpoint of a policy of this shape; nothing changes then
   */
  load(bytes: Uint8Array): void {
    const { version, weights } = readCheckpoint(bytes, this.config);
    this.#weights = weights;
    this.#version = version;
  }
}

const seeds = z.int().min(0);

export interface PolicyOptions {
  /** A whole number; the same seed gives the same policy. */
  readonly seed: number;
  readonly config?: ModelOptions;
  /** False leaves the weights random: such a policy hardly ever gives a well formed answer. */
  readonly pretraining?: PretrainOptions | false;
}

/** A new policy, pre-trained to answer in the right form (with random numbers), at version 0. It takes about a second. */
export function createPolicy({ seed, config = {}, pretraining = {} }: PolicyOptions): Policy {
  const random = new Random(seeds.parse(seed));
  const model = new Model(layoutOf(modelConfig.parse(config), VOCABULARY.length));
  const weights = initialise(model.layout, random);
  if (pretraining !== false) pretrain(model, weights, random.seed(), pretraining);
  return new Policy(model, weights, 0);
}

/** @throws CheckpointError when the bytes aren't a policy's checkpoint */
export function loadPolicy(bytes: Uint8Array): Policy {
  const { config, version, weights } = readCheckpoint(bytes);
  return new Policy(new Model(layoutOf(config, VOCABULARY.length)), weights, version);
}
