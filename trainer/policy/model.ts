import { Activations } from "./activations.ts";
import { Attention } from "./attention.ts";
import type { Forest } from "./forest.ts";
import { addScaled, multiply, multiplyBackInput, multiplyBackWeight } from "./kernels.ts";
import { normalise, normaliseBack } from "./normalise.ts";
import { block, type Layout } from "./parameters.ts";

/**
 * A causal transformer (pre-norm, ALiBi, SiLU, no biases) run forwards and backwards by hand, over a forest of tokens. It
 * holds no weights: they come with each call, so that they may change between two tokens of a completion.
 */
export class Model {
  readonly layout: Layout;
  readonly #attention: Attention;

  constructor(layout: Layout) {
    this.layout = layout;
    const { width, heads, maxLength } = layout.config;
    this.#attention = new Attention(width, heads, maxLength);
  }

  activations(): Activations {
    return new Activations(this.layout.config);
  }

  /** Computes rows [from, to); those before are there from earlier calls, as in a KV cache. */
  forward(weights: Float64Array, forest: Forest, activations: Activations, from: number, to: number): void {
    const { config, embedding, layers } = this.layout;
    const { width, hidden } = config;
    activations.reserve(to);
    const rows = to - from;
    const wide = from * width;
    let stream = activations.layers[0]?.input ?? activations.output;
    for (let row = from; row < to; row++) {
      const at = embedding + (forest.tokens[row] ?? 0) * width;
      stream.set(weights.subarray(at, at + width), row * width);
    }
    for (const [index, offsets] of layers.entries()) {
      const layer = activations.layers[index];
      if (layer === undefined) throw new Error(`no activations for layer ${index}: they belong to another model`);
      normalise(layer.input, layer.inputNormal, from, to, width);
      layer.projected.fill(0, 3 * wide, 3 * to * width);
      const inputNormal = block(layer.inputNormal, wide);
      multiply(
        inputNormal,
        block(weights, offsets.attention),
        block(layer.projected, 3 * wide),
        rows,
        width,
        3 * width,
      );
      this.#attention.forward(forest, layer, from, to);
      copyRows(layer.input, layer.middle, wide, to * width);
      const middle = block(layer.middle, wide);
      multiply(block(layer.gathered, wide), block(weights, offsets.attentionOut), middle, rows, width, width);
      normalise(layer.middle, layer.middleNormal, from, to, width);
      layer.raised.fill(0, from * hidden, to * hidden);
      const raised = block(layer.raised, from * hidden);
      multiply(block(layer.middleNormal, wide), block(weights, offsets.up), raised, rows, width, hidden);
      silu(layer.raised, layer.activated, from * hidden, to * hidden);
      stream = activations.layers[index + 1]?.input ?? activations.output;
      copyRows(layer.middle, stream, wide, to * width);
      const activated = block(layer.activated, from * hidden);
      multiply(activated, block(weights, offsets.down), block(stream, wide), rows, hidden, width);
    }
    normalise(activations.output, activations.outputNormal, from, to, width);
  }

  /** The logits `[row][vocabulary]` of the rows asked for, which {@link forward} has computed. */
  logits(weights: Float64Array, activations: Activations, rows: ArrayLike<number>): Float64Array {
    const { config, vocabulary, head } = this.layout;
    const logits = new Float64Array(rows.length * vocabulary);
    for (let i = 0; i < rows.length; i++) {
      const output = block(activations.outputNormal, (rows[i] ?? 0) * config.width);
      multiply(output, block(weights, head), block(logits, i * vocabulary), 1, config.width, vocabulary);
    }
    return logits;
  }

  /**
   * Adds to `gradient` what a loss changes with the weights.
   * @param rows the rows whose logits the loss was computed from, each at most once
   * @param dLogits `[row][vocabulary]`, the loss's gradient for those logits
   */
  backward(
    weights: Float64Array,
    forest: Forest,
    activations: Activations,
    rows: ArrayLike<number>,
    dLogits: Float64Array,
    gradient: Float64Array,
  ): void {
    const { config, vocabulary, embedding, head, layers } = this.layout;
    const { width, hidden } = config;
    const count = forest.rows;
    const outputs = gatherRows(activations.outputNormal, rows, width);
    const dLogitsBlock = block(dLogits, 0);
    multiplyBackWeight(block(outputs, 0), dLogitsBlock, block(gradient, head), rows.length, width, vocabulary);
    const dOutputs = new Float64Array(rows.length * width);
    multiplyBackInput(dLogitsBlock, block(weights, head), block(dOutputs, 0), rows.length, width, vocabulary);
    const dOutputNormal = scatterRows(dOutputs, rows, width, count);

    // The gradient of the residual stream, carried from the last layer to the first.
    const dStream = new Float64Array(count * width);
    normaliseBack(activations.output, activations.outputNormal, dOutputNormal, dStream, count, width);
    const dWide = new Float64Array(count * width);
    const dHidden = new Float64Array(count * hidden);
    const dProjected = new Float64Array(count * 3 * width);
    const dStreamBlock = block(dStream, 0);
    const dWideBlock = block(dWide, 0);
    const dHiddenBlock = block(dHidden, 0);
    const dProjectedBlock = block(dProjected, 0);
    for (let index = layers.length - 1; index >= 0; index--) {
      const layer = activations.layers[index];
      const offsets = layers[index];
      if (layer === undefined || offsets === undefined) throw new Error(`the model has no layer ${index}`);
      multiplyBackWeight(block(layer.activated, 0), dStreamBlock, block(gradient, offsets.down), count, hidden, width);
      dHidden.fill(0);
      multiplyBackInput(dStreamBlock, block(weights, offsets.down), dHiddenBlock, count, hidden, width);
      siluBack(layer.raised, dHidden);
      multiplyBackWeight(block(layer.middleNormal, 0), dHiddenBlock, block(gradient, offsets.up), count, width, hidden);
      dWide.fill(0);
      multiplyBackInput(dHiddenBlock, block(weights, offsets.up), dWideBlock, count, width, hidden);
      normaliseBack(layer.middle, layer.middleNormal, dWide, dStream, count, width);

      const dAttentionOut = block(gradient, offsets.attentionOut);
      multiplyBackWeight(block(layer.gathered, 0), dStreamBlock, dAttentionOut, count, width, width);
      dWide.fill(0);
      multiplyBackInput(dStreamBlock, block(weights, offsets.attentionOut), dWideBlock, count, width, width);
      dProjected.fill(0);
      this.#attention.backward(forest, layer, dWide, dProjected);
      const dAttention = block(gradient, offsets.attention);
      multiplyBackWeight(block(layer.inputNormal, 0), dProjectedBlock, dAttention, count, width, 3 * width);
      dWide.fill(0);
      multiplyBackInput(dProjectedBlock, block(weights, offsets.attention), dWideBlock, count, width, 3 * width);
      normaliseBack(layer.input, layer.inputNormal, dWide, dStream, count, width);
    }
    for (let row = 0; row < count; row++) {
      addScaled(1, dStream, row * width, gradient, embedding + (forest.tokens[row] ?? 0) * width, width);
    }
  }
}

function copyRows(source: Float64Array, target: Float64Array, from: number, to: number): void {
  target.set(source.subarray(from, to), from);
}

function gatherRows(source: Float64Array, rows: ArrayLike<number>, width: number): Float64Array {
  const gathered = new Float64Array(rows.length * width);
  for (let i = 0; i < rows.length; i++) {
    const at = (rows[i] ?? 0) * width;
    gathered.set(source.subarray(at, at + width), i * width);
  }
  return gathered;
}

function scatterRows(source: Float64Array, rows: ArrayLike<number>, width: number, count: number): Float64Array {
  const scattered = new Float64Array(count * width);
  for (let i = 0; i < rows.length; i++) {
    scattered.set(source.subarray(i * width, (i + 1) * width), (rows[i] ?? 0) * width);
  }
  return scattered;
}

/** y = x · sigmoid(x) */
function silu(x: Float64Array, y: Float64Array, from: number, to: number): void {
  for (let i = from; i < to; i++) {
    const value = x[i] ?? 0;
    y[i] = value / (1 + Math.exp(-value));
  }
}

/** Turns dy into dx in place. */
function siluBack(x: Float64Array, dy: Float64Array): void {
  for (let i = 0; i < dy.length; i++) {
    const value = x[i] ?? 0;
    const gate = 1 / (1 + Math.exp(-value));
    dy[i] = (dy[i] ?? 0) * gate * (1 + value * (1 - gate));
  }
}
