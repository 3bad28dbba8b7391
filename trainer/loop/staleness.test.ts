import { expect, test } from "vitest";
import { stalenessOf } from "./staleness.ts";

test.each<[string, object[], number | null]>([
  ["no group", [], null],
  ["groups that don't say", [{}, { policy_version: null, policy_versions: null }], null],
  ["one version", [{ policy_version: 7 }], 3],
  ["the mean of the groups that say", [{ policy_version: 7 }, { policy_version: 9 }, {}], 2],
  [
    "prompts have no version",
    [
      {
        policy_versions: [
          [
            [null, 40],
            [8, 3],
          ],
        ],
      },
    ],
    2,
  ],
  [
    "a version that changed in the middle",
    [
      {
        policy_versions: [
          [
            [null, 2],
            [8, 1],
            [9, 1],
          ],
          [[10, 2]],
        ],
      },
    ],
    0.75,
  ],
  ["positions go before the group's own", [{ policy_version: 0, policy_versions: [[[10, 1]]] }], 0],
  ["what is malformed says nothing", [{ policy_versions: "10" }, { policy_version: "9" }], null],
])("%s", (_, groups, staleness) => {
  expect(stalenessOf(groups, 10)).toBe(staleness);
});
