import { describe, expect, test } from "vitest";
import { MUTATIONS } from "../mutations.ts";
import { applyEdit, bundle } from "./bundle.ts";

describe("mutations", () => {
  test.each(Object.entries(MUTATIONS))("%s fits the server as it is", async (_name, { edits }) => {
    const script = await bundle(edits);
    for (const { replace } of edits) expect(script).toContain(replace.trim().replace(/^const \w+ = /, ""));
    expect(script).not.toBe(await bundle([]));
  });
});

describe("an edit", () => {
  const edit = { file: "a.ts", find: "one", replace: "two" };

  test("replaces its piece", () => {
    expect(applyEdit("zero one three", edit)).toBe("zero two three");
  });

  test.each(["zero three", "one one"])("of a source where it doesn't fit, %j, is an error", (source) => {
    expect(() => applyEdit(source, edit)).toThrow(/a\.ts has \d times, not once, "one"/);
  });

  test("of a file the server isn't made of is an error", async () => {
    await expect(bundle([{ ...edit, file: "cli/main.ts" }])).rejects.toThrow("cli/main.ts is not part of the server");
  });
});
