/**
 * Matrix products on row-major Float64Arrays, four rows or columns at a time: V8 neither blocks nor vectorises loops, and
 * float64 spares it a conversion at every load. `?? 0` costs nothing; indices are in bounds.
 */

/** A matrix inside a longer array: rows one after another, beginning at `at`. */
export interface Block {
  readonly values: Float64Array;
  readonly at: number;
}

/** y[r][o] += Σᵢ x[r][i] · w[o][i]. Shapes: x `[rows][inputs]`, w `[outputs][inputs]`, y `[rows][outputs]`. */
export function multiply(x: Block, w: Block, y: Block, rows: number, inputs: number, outputs: number): void {
  const xs = x.values;
  const ws = w.values;
  const ys = y.values;
  const tiled = outputs - (outputs % 4);
  for (let row = 0; row < rows; row++) {
    const xAt = x.at + row * inputs;
    const yAt = y.at + row * outputs;
    for (let output = 0; output < tiled; output += 4) {
      let w0 = w.at + output * inputs;
      let w1 = w0 + inputs;
      let w2 = w1 + inputs;
      let w3 = w2 + inputs;
      let sum0 = 0;
      let sum1 = 0;
      let sum2 = 0;
      let sum3 = 0;
      for (let i = xAt; i < xAt + inputs; i++) {
        const value = xs[i] ?? 0;
        sum0 += value * (ws[w0++] ?? 0);
        sum1 += value * (ws[w1++] ?? 0);
        sum2 += value * (ws[w2++] ?? 0);
        sum3 += value * (ws[w3++] ?? 0);
      }
      const at = yAt + output;
      ys[at] = (ys[at] ?? 0) + sum0;
      ys[at + 1] = (ys[at + 1] ?? 0) + sum1;
      ys[at + 2] = (ys[at + 2] ?? 0) + sum2;
      ys[at + 3] = (ys[at + 3] ?? 0) + sum3;
    }
    for (let output = tiled; output < outputs; output++) {
      ys[yAt + output] = (ys[yAt + output] ?? 0) + dot(xs, xAt, ws, w.at + output * inputs, inputs);
    }
  }
}

/** dx[r][i] += Σₒ dy[r][o] · w[o][i]: the gradient of {@link multiply} for its input. */
export function multiplyBackInput(dy: Block, w: Block, dx: Block, rows: number, inputs: number, outputs: number): void {
  for (let row = 0; row < rows; row++) {
    addRows(dy.values, dy.at + row * outputs, 1, w, dx.values, dx.at + row * inputs, outputs, inputs);
  }
}

/** dw[o][i] += Σᵣ dy[r][o] · x[r][i]: the gradient of {@link multiply} for its weights. */
export function multiplyBackWeight(
  x: Block,
  dy: Block,
  dw: Block,
  rows: number,
  inputs: number,
  outputs: number,
): void {
  for (let output = 0; output < outputs; output++) {
    addRows(dy.values, dy.at + output, outputs, x, dw.values, dw.at + output * inputs, rows, inputs);
  }
}

/** target[i] += Σₖ factors[k · stride] · matrix[k][i]. */
function addRows(
  factors: Float64Array,
  factorsAt: number,
  stride: number,
  matrix: Block,
  target: Float64Array,
  targetAt: number,
  count: number,
  width: number,
): void {
  const source = matrix.values;
  const tiled = count - (count % 4);
  for (let k = 0; k < tiled; k += 4) {
    const at = factorsAt + k * stride;
    const f0 = factors[at] ?? 0;
    const f1 = factors[at + stride] ?? 0;
    const f2 = factors[at + 2 * stride] ?? 0;
    const f3 = factors[at + 3 * stride] ?? 0;
    // Common on the way back: in the last layer only the rows that predict something have a gradient.
    if (f0 === 0 && f1 === 0 && f2 === 0 && f3 === 0) continue;
    let m0 = matrix.at + k * width;
    let m1 = m0 + width;
    let m2 = m1 + width;
    let m3 = m2 + width;
    for (let i = targetAt; i < targetAt + width; i++) {
      const sum =
        f0 * (source[m0++] ?? 0) + f1 * (source[m1++] ?? 0) + f2 * (source[m2++] ?? 0) + f3 * (source[m3++] ?? 0);
      target[i] = (target[i] ?? 0) + sum;
    }
  }
  for (let k = tiled; k < count; k++) {
    addScaled(factors[factorsAt + k * stride] ?? 0, source, matrix.at + k * width, target, targetAt, width);
  }
}

/** Σᵢ x[i] · y[i]. */
export function dot(x: Float64Array, xAt: number, y: Float64Array, yAt: number, width: number): number {
  let sum = 0;
  for (let i = 0; i < width; i++) sum += (x[xAt + i] ?? 0) * (y[yAt + i] ?? 0);
  return sum;
}

/** target[i] += factor · source[i]. */
export function addScaled(
  factor: number,
  source: Float64Array,
  sourceAt: number,
  target: Float64Array,
  targetAt: number,
  width: number,
): void {
  for (let i = 0; i < width; i++)
    target[targetAt + i] = (target[targetAt + i] ?? 0) + factor * (source[sourceAt + i] ?? 0);
}
