import type { z } from "zod";
import type { VersionSegment } from "./completion.ts";
import { InferenceError } from "./errors.ts";

/**
 * Checks of what a server answered. Long lists are read with plain loops: zod takes several times as long and makes garbage.
 * `where` is the address that answered; every function throws an InferenceError (`response`) that names it.
 */

export function unusable(where: string, what: string): InferenceError {
  return new InferenceError("response", `${where} answered with ${what}`);
}

/** Reads the outer shape of a body. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown, where: string): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw unusable(where, `a body whose ${issue?.path.join(".") || "shape"} is wrong: ${issue?.message}`);
}

/** Token ids: whole numbers from 0. */
export function tokenIds(value: unknown, name: string, where: string): number[] {
  if (!Array.isArray(value)) throw unusable(where, `no list in ${name}`);
  const ids: number[] = [];
  for (let index = 0; index < value.length; index++) {
    const id: unknown = value[index];
    if (typeof id !== "number" || !Number.isSafeInteger(id) || id < 0) {
      throw unusable(where, `${name}[${index}] = ${JSON.stringify(id)}, which is no token id`);
    }
    ids.push(id);
  }
  return ids;
}

/** Logprobs: finite numbers, none missing. */
export function finiteLogprobs(value: unknown, name: string, where: string): number[] {
  if (!Array.isArray(value)) throw unusable(where, `no list in ${name}`);
  const logprobs: number[] = [];
  for (let index = 0; index < value.length; index++) logprobs.push(finiteLogprob(value[index], name, index, where));
  return logprobs;
}

export function finiteLogprob(value: unknown, name: string, index: number, where: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw unusable(where, `${name}[${index}] = ${JSON.stringify(value)}, which is no logprob`);
}

/**
 * Logprobs for exactly these ids. More logprobs than ids (speculative decoding) are cut only if the server also says which id
 * each of them is for, and the ids are the first of those: then no logprob can land on the wrong token.
 * @param logprobIds the ids the logprobs are for, where the server tells
 * @throws InferenceError with both counts
 */
export function alignLogprobs(
  ids: readonly number[],
  logprobs: number[],
  logprobIds: readonly number[] | null,
  where: string,
) {
  const counts = `${ids.length} token ids and ${logprobs.length} logprobs`;
  if (logprobs.length < ids.length) throw unusable(where, `${counts}: logprobs are missing`);
  if (logprobIds !== null) {
    const wrong = ids.findIndex((id, index) => logprobIds[index] !== id);
    if (wrong !== -1) {
      throw unusable(
        where,
        `a logprob for token ${logprobIds[wrong]} at position ${wrong}, where the id is ${ids[wrong]}`,
      );
    }
    return logprobs.length === ids.length ? logprobs : logprobs.slice(0, ids.length);
  }
  if (logprobs.length > ids.length) throw unusable(where, `${counts}: nothing says which ids the logprobs belong to`);
  return logprobs;
}

/** The choices of one call, which must be as many as were asked for. */
export function expectChoices<T>(choices: readonly T[], n: number, where: string): readonly T[] {
  if (choices.length !== n) throw unusable(where, `${choices.length} completions instead of ${n}`);
  return choices;
}

/** `[[version, count], …]` over a completion's tokens, or null when the server doesn't tell. */
export function versionSegments(value: unknown, tokens: number, where: string): VersionSegment[] | null {
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value)) throw unusable(where, "policy_versions that are no list");
  const segments = value.map((segment: unknown, index): VersionSegment => {
    const [version, count] = Array.isArray(segment) ? tokenIds(segment, `policy_versions[${index}]`, where) : [];
    if (version === undefined || count === undefined) {
      throw unusable(where, `policy_versions[${index}] = ${JSON.stringify(segment)} instead of [version, count]`);
    }
    return [version, count];
  });
  const sum = segments.reduce((total, [, count]) => total + count, 0);
  if (sum !== tokens) throw unusable(where, `policy_versions for ${sum} tokens, but ${tokens} token ids`);
  return segments;
}
