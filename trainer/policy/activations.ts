import type { ModelConfig } from "./config.ts";

/** What one layer computed, kept for later rows (keys and values) and for the way back. Shapes are `[row][…]`. */
export interface LayerActivations {
  /** `[width]`: the residual stream as it came in. */
  input: Float64Array;
  /** `[width]`: the same, normalised. */
  inputNormal: Float64Array;
  /** `[3 · width]`: queries, keys, values. */
  projected: Float64Array;
  /** `[heads]`: log of the sum of the exponentials of the scores. */
  logSums: Float64Array;
  /** `[width]`: what attention gathered. */
  gathered: Float64Array;
  /** `[width]`: the residual stream after attention. */
  middle: Float64Array;
  /** `[width]` */
  middleNormal: Float64Array;
  /** `[hidden]`, before the activation function. */
  raised: Float64Array;
  /** `[hidden]`, after it. */
  activated: Float64Array;
}

/** Everything the forward pass computed, a row a token; it grows as rows come. */
export class Activations {
  readonly layers: readonly LayerActivations[];
  /** `[row][width]`: the residual stream after the last layer. */
  output: Float64Array = new Float64Array(0);
  /** `[row][width]` */
  outputNormal: Float64Array = new Float64Array(0);
  readonly #config: ModelConfig;
  #capacity = 0;

  constructor(config: ModelConfig) {
    this.#config = config;
    this.layers = Array.from({ length: config.layers }, () => emptyLayer());
  }

  /** Makes room for this many rows; what is there stays. */
  reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    const capacity = Math.max(64, rows, Math.ceil(this.#capacity * 1.5));
    this.#capacity = capacity;
    const { width, heads, hidden } = this.#config;
    for (const layer of this.layers) {
      layer.input = resized(layer.input, capacity * width);
      layer.inputNormal = resized(layer.inputNormal, capacity * width);
      layer.projected = resized(layer.projected, capacity * 3 * width);
      layer.logSums = resized(layer.logSums, capacity * heads);
      layer.gathered = resized(layer.gathered, capacity * width);
      layer.middle = resized(layer.middle, capacity * width);
      layer.middleNormal = resized(layer.middleNormal, capacity * width);
      layer.raised = resized(layer.raised, capacity * hidden);
      layer.activated = resized(layer.activated, capacity * hidden);
    }
    this.output = resized(this.output, capacity * width);
    this.outputNormal = resized(this.outputNormal, capacity * width);
  }
}

function emptyLayer(): LayerActivations {
  const none = new Float64Array(0);
  return {
    input: none,
    inputNormal: none,
    projected: none,
    logSums: none,
    gathered: none,
    middle: none,
    middleNormal: none,
    raised: none,
    activated: none,
  };
}

function resized(array: Float64Array, length: number): Float64Array {
  const larger = new Float64Array(length);
  larger.set(array);
  return larger;
}
