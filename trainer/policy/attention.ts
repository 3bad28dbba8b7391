import type { LayerActivations } from "./activations.ts";
import type { Forest } from "./forest.ts";
import { addScaled, dot } from "./kernels.ts";
import { slopes } from "./parameters.ts";

/** Causal attention over a forest: a row sees itself and its ancestors. Scratch space is kept from call to call. */
export class Attention {
  readonly #width: number;
  readonly #headWidth: number;
  readonly #slopes: readonly number[];
  readonly #path: Int32Array;
  readonly #scores: Float64Array;

  /** @param maxLength tokens a sequence has at most */
  constructor(width: number, heads: number, maxLength: number) {
    this.#width = width;
    this.#headWidth = width / heads;
    this.#slopes = slopes(heads);
    this.#path = new Int32Array(maxLength);
    this.#scores = new Float64Array(maxLength);
  }

  /** Fills `gathered` and `logSums` of rows [from, to) from `projected`. */
  forward(forest: Forest, layer: LayerActivations, from: number, to: number): void {
    const { projected, gathered, logSums } = layer;
    const width = this.#width;
    const headWidth = this.#headWidth;
    const scale = 1 / Math.sqrt(headWidth);
    const scores = this.#scores;
    const path = this.#path;
    for (let row = from; row < to; row++) {
      const length = this.#walk(forest, row);
      for (const [head, slope] of this.#slopes.entries()) {
        const query = row * 3 * width + head * headWidth;
        const key = width + head * headWidth;
        let top = Number.NEGATIVE_INFINITY;
        for (let k = 0; k < length; k++) {
          const score =
            scale * dot(projected, query, projected, (path[k] ?? 0) * 3 * width + key, headWidth) - slope * k;
          scores[k] = score;
          if (score > top) top = score;
        }
        const target = row * width + head * headWidth;
        gathered.fill(0, target, target + headWidth);
        let sum = 0;
        for (let k = 0; k < length; k++) {
          const weight = Math.exp((scores[k] ?? 0) - top);
          sum += weight;
          addScaled(weight, projected, (path[k] ?? 0) * 3 * width + key + width, gathered, target, headWidth);
        }
        for (let i = target; i < target + headWidth; i++) gathered[i] = (gathered[i] ?? 0) / sum;
        logSums[row * this.#slopes.length + head] = top + Math.log(sum);
      }
    }
  }

  /** dProjected += the gradient of {@link forward}. Attention weights are computed again rather than kept: they'd fill memory. */
  backward(forest: Forest, layer: LayerActivations, dGathered: Float64Array, dProjected: Float64Array): void {
    const { projected, gathered, logSums } = layer;
    const width = this.#width;
    const headWidth = this.#headWidth;
    const scale = 1 / Math.sqrt(headWidth);
    const path = this.#path;
    for (let row = 0; row < forest.rows; row++) {
      if (isZero(dGathered, row * width, width)) continue;
      const length = this.#walk(forest, row);
      for (const [head, slope] of this.#slopes.entries()) {
        const query = row * 3 * width + head * headWidth;
        const target = row * width + head * headWidth;
        const mean = dot(dGathered, target, gathered, target, headWidth);
        const logSum = logSums[row * this.#slopes.length + head] ?? 0;
        for (let k = 0; k < length; k++) {
          const key = (path[k] ?? 0) * 3 * width + width + head * headWidth;
          const value = key + width;
          const weight = Math.exp(scale * dot(projected, query, projected, key, headWidth) - slope * k - logSum);
          const dScore = scale * weight * (dot(dGathered, target, projected, value, headWidth) - mean);
          addScaled(weight, dGathered, target, dProjected, value, headWidth);
          addScaled(dScore, projected, key, dProjected, query, headWidth);
          addScaled(dScore, projected, query, dProjected, key, headWidth);
        }
      }
    }
  }

  /** Puts a row and its ancestors into the path, nearest first, and returns how many there are. */
  #walk(forest: Forest, row: number): number {
    const { parents } = forest;
    const length = (forest.depths[row] ?? 0) + 1;
    if (length > this.#path.length) {
      throw new RangeError(`a sequence has ${length} tokens, but the model's maxLength is ${this.#path.length}`);
    }
    for (let k = 0, at = row; k < length; k++) {
      this.#path[k] = at;
      at = parents[at] ?? -1;
    }
    return length;
  }
}

function isZero(values: Float64Array, at: number, width: number): boolean {
  for (let i = at; i < at + width; i++) if (values[i] !== 0) return false;
  return true;
}
