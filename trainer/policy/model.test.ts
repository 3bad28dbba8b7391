import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { modelConfig } from "./config.ts";
import { Evaluation, type Target } from "./evaluation.ts";
import { Forest } from "./forest.ts";
import { Model } from "./model.ts";
import { initialise, layoutOf } from "./parameters.ts";
import { Random } from "./random.ts";

const VOCABULARY = 7;

interface Shape {
  readonly width: number;
  readonly heads: number;
  readonly layers: number;
  readonly hidden: number;
}

function modelOf(shape: Shape): { model: Model; weights: Float64Array } {
  const model = new Model(layoutOf(modelConfig.parse({ ...shape, maxLength: 16 }), VOCABULARY));
  return { model, weights: initialise(model.layout, new Random(5)) };
}

const sequences = fc.array(fc.array(fc.nat(VOCABULARY - 1), { minLength: 2, maxLength: 9 }), {
  minLength: 1,
  maxLength: 4,
});

describe("gradients agree with finite differences", () => {
  test.each([
    { width: 4, heads: 1, layers: 1, hidden: 3 },
    { width: 4, heads: 2, layers: 2, hidden: 5 },
    { width: 6, heads: 3, layers: 1, hidden: 8 },
  ])("%o", (shape) => {
    const { model, weights } = modelOf(shape);
    const batch = [
      [1, 2, 3, 4, 5],
      [1, 2, 3, 0, 6],
      [1, 2, 3, 4, 4],
      [3, 3, 2],
    ];
    const targets: Target[] = batch.flatMap((tokens, sequence) =>
      tokens.slice(1).map((_, index) => ({ sequence, position: index + 1 })),
    );
    // Each target with a slope of its own, so that no two errors cancel.
    const lossOf = (evaluation: Evaluation) =>
      targets.reduce((sum, _, i) => sum + (i - 4) * evaluation.logprob(i) + 0.3 * i * evaluation.entropy(i), 0);
    const evaluation = new Evaluation(model, weights, batch, targets);
    for (const i of targets.keys()) evaluation.addSlope(i, { logprob: i - 4, entropy: 0.3 * i });
    const gradient = evaluation.gradient();
    const step = 1e-5;
    for (const { name, at, rows, columns } of model.layout.matrices) {
      for (let i = at; i < at + rows * columns; i++) {
        const kept = weights[i] ?? 0;
        weights[i] = kept + step;
        const above = lossOf(new Evaluation(model, weights, batch, targets));
        weights[i] = kept - step;
        const below = lossOf(new Evaluation(model, weights, batch, targets));
        weights[i] = kept;
        const numeric = (above - below) / (2 * step);
        const error = Math.abs((gradient[i] ?? 0) - numeric) / Math.max(1e-3, Math.abs(numeric));
        expect(error, `${name}[${i - at}]: ${gradient[i]} against ${numeric}`).toBeLessThan(1e-4);
      }
    }
  });
});

describe("forward", () => {
  const { model, weights } = modelOf({ width: 8, heads: 2, layers: 2, hidden: 6 });

  test("token by token gives what one pass gives", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: 9 }), (tokens) => {
        const forest = new Forest();
        const rows = forest.add(tokens);
        const whole = model.activations();
        model.forward(weights, forest, whole, 0, forest.rows);
        const stepped = model.activations();
        for (const row of rows) model.forward(weights, forest, stepped, row, row + 1);
        expect(model.logits(weights, stepped, rows)).toEqual(model.logits(weights, whole, rows));
      }),
    );
  });

  test("sequences packed together get the logprobs they get alone", () => {
    fc.assert(
      fc.property(sequences, (batch) => {
        const targets = batch.map((tokens, sequence) => ({ sequence, position: tokens.length - 1 }));
        const packed = new Evaluation(model, weights, batch, targets);
        for (const [i, tokens] of batch.entries()) {
          const alone = new Evaluation(model, weights, [tokens], [{ sequence: 0, position: tokens.length - 1 }]);
          expect(packed.logprob(i)).toBeCloseTo(alone.logprob(0), 12);
        }
      }),
    );
  });

  test("a later token changes nothing before it", () => {
    const logprobs = [5, 6].map(
      (last) => new Evaluation(model, weights, [[1, 2, 3, last]], [{ sequence: 0, position: 2 }]),
    );
    expect(logprobs[0]?.logprob(0)).toBe(logprobs[1]?.logprob(0));
  });

  test("shared history is computed once", () => {
    const batch = [
      [1, 2, 3],
      [1, 2, 4],
    ];
    expect(new Evaluation(model, weights, batch, [{ sequence: 0, position: 1 }]).rows).toBe(4);
  });

  test.each([
    { position: 0, sequence: 0 },
    { position: 3, sequence: 0 },
    { position: 1, sequence: 1 },
  ])("refuses the target %o", (target) => {
    expect(() => new Evaluation(model, weights, [[1, 2, 3]], [target])).toThrow(RangeError);
  });

  test("refuses a sequence that is too long", () => {
    const long = Array.from({ length: 17 }, () => 1);
    expect(() => new Evaluation(model, weights, [long], [{ sequence: 0, position: 1 }])).toThrow(
      /17 tokens.*maxLength is 16/,
    );
  });
});
