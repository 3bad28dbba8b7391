/** Keeps the norm away from zero, and an all-zero row at zero. */
const EPSILON = 1e-6;

/** RMS norm without a gain (the matrix that follows holds it): y = x / √(mean(x²) + ε), for rows [from, to). */
export function normalise(x: Float64Array, y: Float64Array, from: number, to: number, width: number): void {
  for (let row = from; row < to; row++) {
    const at = row * width;
    const scale = 1 / rootMeanSquare(x, at, width);
    for (let i = at; i < at + width; i++) y[i] = (x[i] ?? 0) * scale;
  }
}

/** dx += the gradient of {@link normalise}: (dy − y · mean(dy · y)) / rms. */
export function normaliseBack(
  x: Float64Array,
  y: Float64Array,
  dy: Float64Array,
  dx: Float64Array,
  rows: number,
  width: number,
): void {
  for (let row = 0; row < rows; row++) {
    const at = row * width;
    const scale = 1 / rootMeanSquare(x, at, width);
    let mean = 0;
    for (let i = at; i < at + width; i++) mean += (dy[i] ?? 0) * (y[i] ?? 0);
    mean /= width;
    for (let i = at; i < at + width; i++) dx[i] = (dx[i] ?? 0) + scale * ((dy[i] ?? 0) - (y[i] ?? 0) * mean);
  }
}

function rootMeanSquare(x: Float64Array, at: number, width: number): number {
  let sum = 0;
  for (let i = at; i < at + width; i++) sum += (x[i] ?? 0) ** 2;
  return Math.sqrt(sum / width + EPSILON);
}
