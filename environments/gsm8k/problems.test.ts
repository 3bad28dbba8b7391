import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ProblemSettings, problemAt } from "./problems.ts";

const tiny: ProblemSettings = { difficulty: "tiny", largest_number: null, steps: [1, 4], seed: 0 };
const school: ProblemSettings = { ...tiny, difficulty: "grade_school" };

const indices = fc.nat(1_000_000_000);
const settings = fc
  .record({
    difficulty: fc.constantFrom("tiny" as const, "grade_school" as const),
    largest_number: fc.oneof(fc.constant(null), fc.integer({ min: 6, max: 1_000_000 })),
    steps: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
    seed: fc.nat(),
  })
  .map(({ steps: [a, b], ...rest }): ProblemSettings => ({ ...rest, steps: [Math.min(a, b), Math.max(a, b)] }));

/** Each line of a solution: its numbers and operator. */
function workings(answer: string) {
  return [...answer.matchAll(/^(\d+) ([-+*/]) (\d+) = <<\1\2\3=(\d+)>>\4$/gm)].map(
    ([, left, operator, right, value]) => ({
      left: Number(left),
      operator,
      right: Number(right),
      value: Number(value),
    }),
  );
}

describe("every problem", () => {
  test("is the same whenever it is asked for", () => {
    fc.assert(
      fc.property(indices, settings, (index, given) => {
        expect(problemAt(index, given)).toEqual(problemAt(index, given));
      }),
    );
  });

  test("has a solution that computes its answer step by step, from numbers of the question, in bounds", () => {
    fc.assert(
      fc.property(indices, settings, (index, given) => {
        const { question, answer, value } = problemAt(index, given);
        const lines = workings(answer);
        expect(lines).toHaveLength(answer.split("\n").length - 1);
        expect(answer.endsWith(`\n#### ${value}`)).toBe(true);
        const asked = [...question.matchAll(/\d+/g)].map(([digits]) => Number(digits));
        const most = given.largest_number ?? (given.difficulty === "tiny" ? 9 : 200);
        for (const [i, { left, operator, right, value: result }] of lines.entries()) {
          const computed = { "+": left + right, "-": left - right, "*": left * right, "/": left / right }[
            operator ?? ""
          ];
          expect(result).toBe(computed);
          if (i > 0) expect(left).toBe(lines[i - 1]?.value);
          else expect(asked).toContain(left);
          expect(asked).toContain(right);
          for (const number of [left, right, result]) expect(number).toSatisfy((n: number) => n >= 1 && n <= most);
        }
        expect(lines.at(-1)?.value).toBe(value);
        expect(Number.isInteger(value)).toBe(true);
        expect(asked).toHaveLength(lines.length + 1);
        expect(question).not.toMatch(/[{}]|undefined/);
      }),
      { numRuns: 2_000 },
    );
  });

  test("has as many steps as wanted", () => {
    fc.assert(
      fc.property(indices, fc.integer({ min: 1, max: 4 }), (index, steps) => {
        expect(workings(problemAt(index, { ...school, steps: [steps, steps] }).answer)).toHaveLength(steps);
      }),
    );
    const counts = new Set(Array.from({ length: 100 }, (_, i) => workings(problemAt(i, school).answer).length));
    expect(counts).toEqual(new Set([1, 2, 3, 4]));
  });
});

describe("problems differ", () => {
  const questions = (given: ProblemSettings, count: number, split?: "evaluation") =>
    Array.from({ length: count }, (_, index) => problemAt(index, given, split).question);

  test("from index to index", () => {
    expect(new Set(questions(school, 2_000)).size).toBeGreaterThan(1_950);
    expect(new Set(questions(tiny, 2_000)).size).toBeGreaterThan(1_500);
  });

  test("from seed to seed, and from training to evaluation", () => {
    const train = new Set(questions(school, 500));
    for (const others of [questions({ ...school, seed: 1 }, 500), questions(school, 500, "evaluation")]) {
      expect(others.filter((question) => train.has(question)).length).toBeLessThan(10);
    }
  });

  test("in their answers", () => {
    const answers = Array.from({ length: 2_000 }, (_, index) => problemAt(index, tiny).value);
    expect(new Set(answers)).toEqual(new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]));
    const commonest = Math.max(
      ...[...new Set(answers)].map((value) => answers.filter((other) => other === value).length),
    );
    expect(commonest / answers.length).toBeLessThan(0.25);
  });

  test("in all operators", () => {
    const operators = new Set(
      Array.from({ length: 200 }, (_, i) =>
        workings(problemAt(i, school).answer).map(({ operator }) => operator),
      ).flat(),
    );
    expect(operators).toEqual(new Set(["+", "-", "*", "/"]));
  });
});

test("a tiny problem is short, and all of them need fewer than 80 words", () => {
  const words = new Set<string>();
  for (let index = 0; index < 5_000; index++) {
    const inQuestion = problemAt(index, tiny).question.match(/\w+|[^\w\s]/g) ?? [];
    expect(inQuestion.length).toBeLessThanOrEqual(14);
    for (const word of inQuestion) words.add(word);
  }
  expect(words.size).toBeLessThan(80);
});

test("items of a seed never change", () => {
  expect([problemAt(0, tiny), problemAt(0, school)]).toMatchInlineSnapshot(`
    [
      {
        "answer": "6 - 3 = <<6-3=3>>3
    #### 3",
        "question": "Sam has 6 shells and drops 3. How many shells?",
        "value": 3,
      },
      {
        "answer": "6 * 23 = <<6*23=138>>138
    138 + 21 = <<138+21=159>>159
    159 + 13 = <<159+13=172>>172
    #### 172",
        "question": "Eva earns $23 an hour and works for 6 hours. Sam adds a gift of $21. Sam adds a gift of $13. How many dollars does Eva have at hand?",
        "value": 172,
      },
    ]
  `);
});
