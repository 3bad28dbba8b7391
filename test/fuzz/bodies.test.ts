import fc from "fast-check";
import { expect, test } from "vitest";
import { type FuzzedRoute, ROUTES } from "./routes.ts";
import { edges } from "./settings-oracle.ts";
import { posting } from "./texts.ts";
import { type Mutation, mutate, mutation, print, type Tree, treeOf, withField } from "./tree.ts";
import { type Attempt, World } from "./world.ts";

const BODIES = 10_000;
/** Bodies sent to one run; each run begins with the same things in it. */
const BODIES_A_RUN = 200;
/** The same seed makes the same bodies. Raise the number of bodies and change the seed to look further. */
const SEED = 1;
const TIMEOUT_MS = 300_000;
/** Looking stops after so many. */
const MAX_FAULTS = 10;

const ids = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 5 }).map(String) },
  fc.constantFrom(
    ...["-1", "1.0", "1e0", "01", "1.5", "abc", "NaN", "%00", "%F0", "%zz", "..", "9007199254740992", "9".repeat(400)],
    ...["%F0%9F%98%80", "%20", "null", "0x1", "1%2F2"],
  ),
);
const queries = fc.oneof(
  { weight: 8, arbitrary: fc.constant("") },
  fc
    .constantFrom(
      "env_id=0",
      "env_id=1&env_id=9",
      "env_id=",
      "env_id=-1",
      "env_id=1e400",
      "env_id=%FF",
      "env_id=0.0",
      "x=1",
    )
    .map((query) => `?${query}`),
);
const headers: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 10, arbitrary: fc.constant({}) },
  fc
    .constantFrom("1", "2", "3", "4", "0", "-1", "1.0", " 2 ", "", "abc", "1e9", "9007199254740993", "1, 2")
    .map((lease) => ({ "lachesis-lease": lease })),
  fc
    .constantFrom("a", "b", "", " ", "a b", "x".repeat(128), "x".repeat(10_000), "a,b", '"a"', "'; DROP TABLE run")
    .map((key) => ({ "idempotency-key": key })),
  fc.constantFrom("text/plain", "multipart/form-data", "application/json; charset=utf-16").map((type) => ({
    "content-type": type,
  })),
);

/** Values of groups that have to be read again after they were stored. */
const GROUP_EDGES: readonly (readonly [name: string, value: unknown])[] = [
  ...[2 ** 53 - 1, 2 ** 53, -(2 ** 53), 1 - 2 ** 53, -1, 0.5, "3"].map((id) => ["env_id", id] as const),
  ...[2 ** 53 - 1, 2 ** 53, -1, 0.5, 1e300, "3", [1]].map((version) => ["policy_version", version] as const),
  ...[[1.7e308], [-1.7e308], [1.7e308, 1.7e308], [5e-324], []].map((scores) => ["scores", scores] as const),
];

/** A body as it should be; seldom one with a field at its edge, or any JSON. */
function bodyOf({ body, judged }: FuzzedRoute): fc.Arbitrary<Tree> {
  const any = fc.jsonValue().map(treeOf);
  const known = "fields" in judged ? edges(judged.fields) : GROUP_EDGES;
  if (known.length === 0) return fc.oneof({ weight: 20, arbitrary: body }, any);
  const edge = fc.tuple(body, fc.constantFrom(...known)).map(([tree, [name, value]]) => withField(tree, name, value));
  return fc.oneof({ weight: 12, arbitrary: body }, { weight: 8, arbitrary: edge }, any);
}

const attempt: fc.Arbitrary<Attempt> = fc.constantFrom(...weighted()).chain((route) =>
  fc
    .record({
      tree: bodyOf(route),
      mutations: fc.oneof(
        { weight: 2, arbitrary: fc.constant<Mutation[]>([]) },
        { weight: 4, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
      ),
      id: ids,
      query: route.path === "/status-env" ? queries : fc.constant(""),
      headers,
      post: posting,
    })
    .map(({ tree, mutations, id, query, headers, post }) => ({
      route,
      path: `${route.path.replace("{id}", id)}${query}`,
      posted: post(print(mutations.reduce<Tree>(mutate, tree))),
      headers,
    })),
);

/** Groups are half of what is sent. */
function weighted() {
  return ROUTES.flatMap((route) => Array.from({ length: "groups" in route.judged ? 5 : 1 }, () => route));
}

test("10,000 bodies: no fault, nothing changed by what is refused, nothing taken that is not valid", {
  timeout: TIMEOUT_MS,
}, async () => {
  const attempts = fc.sample(attempt, { numRuns: BODIES, seed: SEED });
  const faults: string[] = [];
  const seen = new Map<string, Set<string>>();
  for (let from = 0; from < attempts.length && faults.length < MAX_FAULTS; from += BODIES_A_RUN) {
    const world = await World.begin();
    try {
      for (const each of attempts.slice(from, from + BODIES_A_RUN)) {
        const outcome = await world.attempt(each);
        const { path } = each.route;
        seen.set(path, (seen.get(path) ?? new Set()).add(outcome));
      }
      await world.outliveRestart();
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    }
  }
  expect(faults.join("\n\n")).toBe("");
  // Else the generator would be no test of a route.
  for (const { path, answers } of ROUTES) {
    const wanted = answers.includes(200) ? ["taken", "refused"] : ["refused"];
    expect([...(seen.get(path) ?? [])], path).toEqual(expect.arrayContaining(wanted));
  }
});
