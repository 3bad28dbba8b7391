/** Numbers as little-endian float64, whatever the machine's own order is. */
export function writeDoubles(values: Float64Array): Uint8Array {
  const bytes = new Uint8Array(8 * values.length);
  const view = new DataView(bytes.buffer);
  for (const [index, value] of values.entries()) view.setFloat64(8 * index, value, true);
  return bytes;
}

/** @param bytes 8 a number */
export function readDoubles(bytes: Uint8Array): Float64Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: bytes.length / 8 }, (_, index) => view.getFloat64(8 * index, true));
}
