import type { ModelConfig } from "./config.ts";
import type { Block } from "./kernels.ts";
import type { Random } from "./random.ts";

/** Where each matrix of a layer begins in the flat array. All are `[outputs][inputs]`, row-major. */
export interface LayerOffsets {
  /** `[3 · width][width]`: queries, keys, values. */
  readonly attention: number;
  /** `[width][width]` */
  readonly attentionOut: number;
  /** `[hidden][width]` */
  readonly up: number;
  /** `[width][hidden]` */
  readonly down: number;
}

/** One named matrix, for checkpoints and initialisation. */
export interface Matrix {
  readonly name: string;
  readonly at: number;
  readonly rows: number;
  readonly columns: number;
  /** Standard deviation of its first values. */
  readonly deviation: number;
}

/** How a model's matrices lie in one flat array. The same layout serves weights, gradients and Adam's moments. */
export interface Layout {
  readonly config: ModelConfig;
  readonly vocabulary: number;
  readonly matrices: readonly Matrix[];
  /** `[vocabulary][width]` */
  readonly embedding: number;
  readonly layers: readonly LayerOffsets[];
  /** `[vocabulary][width]`: what turns the last layer's output into logits; not tied to the embedding. */
  readonly head: number;
  /** Values altogether. */
  readonly length: number;
}

export function layoutOf(config: ModelConfig, vocabulary: number): Layout {
  const { width, hidden, layers } = config;
  const matrices: Matrix[] = [];
  let length = 0;
  const place = (name: string, rows: number, columns: number, deviation: number): number => {
    const at = length;
    matrices.push({ name, at, rows, columns, deviation });
    length += rows * columns;
    return at;
  };
  const inner = 1 / Math.sqrt(width);
  // What adds to the residual stream starts smaller the more layers add to it (the GPT-2 rule).
  const residual = 1 / Math.sqrt(2 * layers);
  // A mean over twenty tokens is small. Attention starts several times stronger than usual, else what the question says
  // hardly reaches the logits, and rewards teach the commonest answer long before they teach to read.
  const attention = 2 * inner;
  const attentionOut = 3 * inner * residual;
  const embedding = place("embedding", vocabulary, width, 1);
  const offsets = Array.from({ length: layers }, (_, layer) => ({
    attention: place(`layers.${layer}.attention`, 3 * width, width, attention),
    attentionOut: place(`layers.${layer}.attention_out`, width, width, attentionOut),
    up: place(`layers.${layer}.up`, hidden, width, inner),
    down: place(`layers.${layer}.down`, width, hidden, residual / Math.sqrt(hidden)),
  }));
  const head = place("head", vocabulary, width, inner * 0.1);
  return { config, vocabulary, matrices, embedding, layers: offsets, head, length };
}

/** Fresh weights: normal numbers, each matrix with its own deviation. */
export function initialise(layout: Layout, random: Random): Float64Array {
  const values = new Float64Array(layout.length);
  for (const { at, rows, columns, deviation } of layout.matrices) {
    for (let i = at; i < at + rows * columns; i++) values[i] = deviation * random.normal();
  }
  return values;
}

/** A matrix of the flat array. */
export function block(values: Float64Array, at: number): Block {
  return { values, at };
}

/**
 * ALiBi slopes: what a head takes off a score for each token of distance. The first half of the heads sees everything alike,
 * which finds facts wherever they stand; the last looks at its own and the previous token, which holds the form of an answer.
 */
export function slopes(heads: number): number[] {
  return Array.from({ length: heads }, (_, head) => (head < heads / 2 ? 0 : 2 ** (1 - 2 * (heads - 1 - head))));
}
