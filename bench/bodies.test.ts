import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { GroupSource, SIZES, type SizeName, serialOf } from "./bodies.ts";

const text = (parts: readonly Buffer[]) => Buffer.concat(parts).toString();

describe("GroupSource", () => {
  it.each(["small", "medium", "large"] as const)("makes %s groups of about the nominal size", (size: SizeName) => {
    const { parts, textBytes } = new GroupSource(SIZES[size], 1).next("plain");
    expect(text(parts)).toHaveLength(textBytes);
    expect(textBytes / SIZES[size].nominalBytes).toBeGreaterThan(0.95);
    expect(textBytes / SIZES[size].nominalBytes).toBeLessThan(1.05);
  });

  it("makes groups of the shape the API takes", () => {
    const group = JSON.parse(text(new GroupSource(SIZES.small, 1).next("plain").parts));
    expect(group.scores).toHaveLength(4);
    for (const key of ["tokens", "masks", "inference_logprobs"]) {
      expect(group[key].map((values: number[]) => values.length)).toEqual([64, 64, 64, 64]);
    }
    expect(group.masks[0].slice(0, 21)).toEqual(Array(21).fill(-100));
    expect(group.inference_logprobs[0].slice(0, 21)).toEqual(Array(21).fill(1));
    expect(group.masks[3].slice(21)).toEqual(group.tokens[3].slice(21));
    expect(Math.max(...group.tokens.flat())).toBeLessThan(150_000);
    expect(Math.max(...group.inference_logprobs[3].slice(21))).toBeLessThan(0);
  });

  it("writes JSON as Python does, with no float that Python would print otherwise", () => {
    const body = text(new GroupSource(SIZES.medium, 1).next("plain").parts);
    expect(body).toMatch(/^\{"tokens": \[\[\d+, \d+, /);
    expect(body).not.toMatch(/e-/);
    expect(body).not.toMatch(/,\S/);
  });

  it("makes the same groups as gzip members", () => {
    const plain = new GroupSource(SIZES.small, 2);
    const gzip = new GroupSource(SIZES.small, 2);
    for (let i = 0; i < 3; i++) {
      const body = gzip.next("gzip");
      const decoded = gunzipSync(Buffer.concat(body.parts)).toString();
      expect(decoded).toBe(text(plain.next("plain").parts));
      expect(decoded).toHaveLength(body.textBytes);
    }
  });

  it("makes every group different, and tells them apart by their scores", () => {
    const source = new GroupSource(SIZES.small, 1);
    const bodies = [source.next("plain"), source.next("gzip"), source.next("plain")];
    expect(bodies.map(({ serial }) => serial)).toEqual([1, 2, 3]);
    expect(serialOf(JSON.parse(text(bodies[2]?.parts ?? [])).scores)).toBe(3);
  });

  it("lists groups", () => {
    const source = new GroupSource(SIZES.small, 1);
    source.envId = 7;
    const groups = JSON.parse(text(source.list(3).parts));
    expect(groups.map(({ env_id }: { env_id: number }) => env_id)).toEqual([7, 7, 7]);
  });
});
