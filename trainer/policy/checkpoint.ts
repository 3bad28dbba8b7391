import { z } from "zod";
import { type ModelConfig, modelConfig } from "./config.ts";
import { readDoubles, writeDoubles } from "./doubles.ts";
import { layoutOf } from "./parameters.ts";
import { VOCABULARY } from "./vocabulary.ts";

/** Raised whenever the format, the model or the order of the vocabulary changes. */
const FORMAT = 1;

const shape = z.tuple([z.string(), z.int(), z.int()]);

const header = z.object({
  format: z.literal(FORMAT, {
    error: ({ input }) => `format ${String(input)} can't be read: this release reads ${FORMAT}; start a new policy`,
  }),
  version: z.int().nonnegative(),
  vocabulary: z.int(),
  config: modelConfig,
  /** Name, rows and columns of each matrix, in order. */
  matrices: z.array(shape),
});

/** A checkpoint that can't be used, and why. */
export class CheckpointError extends Error {}

export interface Checkpoint {
  readonly config: ModelConfig;
  /** The step that the weights are from. */
  readonly version: number;
  readonly weights: Float64Array;
}

/** One line of JSON (format, version, shapes), a newline, then the weights as little-endian float64. */
export function writeCheckpoint({ config, version, weights }: Checkpoint): Uint8Array {
  const { matrices } = layoutOf(config, VOCABULARY.length);
  const head: z.input<typeof header> = {
    format: FORMAT,
    version,
    vocabulary: VOCABULARY.length,
    config,
    matrices: matrices.map(({ name, rows, columns }): [string, number, number] => [name, rows, columns]),
  };
  const line = new TextEncoder().encode(`${JSON.stringify(head)}\n`);
  const values = writeDoubles(weights);
  const bytes = new Uint8Array(line.length + values.length);
  bytes.set(line);
  bytes.set(values, line.length);
  return bytes;
}

/**
 * @param expected the shape it has to have; any shape when left out
 * @throws CheckpointError which says what doesn't fit
 */
export function readCheckpoint(bytes: Uint8Array, expected?: ModelConfig): Checkpoint {
  const end = bytes.indexOf(10);
  if (end < 0) throw new CheckpointError("this is not a policy's checkpoint: it has no header line");
  const { vocabulary, config, version, matrices } = readHeader(bytes.subarray(0, end));
  if (vocabulary !== VOCABULARY.length) {
    throw new CheckpointError(`the checkpoint knows ${vocabulary} tokens, this release ${VOCABULARY.length}`);
  }
  for (const [name, value] of Object.entries(expected ?? {})) {
    const found = Object.entries(config).find(([key]) => key === name)?.[1];
    if (found !== value) throw new CheckpointError(`the checkpoint's ${name} is ${found}, the policy's is ${value}`);
  }
  const layout = layoutOf(config, vocabulary);
  for (const [index, { name, rows, columns }] of layout.matrices.entries()) {
    const found = matrices[index];
    if (found?.[0] === name && found[1] === rows && found[2] === columns) continue;
    const what = found === undefined ? "nothing" : `${found[0]} of ${found[1]} × ${found[2]}`;
    throw new CheckpointError(`the checkpoint has ${what} where ${name} of ${rows} × ${columns} belongs`);
  }
  return { config, version, weights: readWeights(bytes.subarray(end + 1), layout.length) };
}

function readHeader(line: Uint8Array): z.infer<typeof header> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(line));
  } catch {
    throw new CheckpointError("this is not a policy's checkpoint: its first line is not JSON");
  }
  const read = header.safeParse(json);
  if (read.success) return read.data;
  throw new CheckpointError(`the checkpoint's header is wrong: ${z.prettifyError(read.error)}`);
}

function readWeights(bytes: Uint8Array, length: number): Float64Array {
  if (bytes.length !== 8 * length) {
    throw new CheckpointError(
      `the checkpoint has ${bytes.length} bytes of weights instead of ${8 * length}: it was cut off?`,
    );
  }
  const weights = readDoubles(bytes);
  if (!weights.every(Number.isFinite)) throw new CheckpointError("the checkpoint has weights that are not finite");
  return weights;
}
