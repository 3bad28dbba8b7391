import fc from "fast-check";
import { expect, test } from "vitest";
import { decode, END } from "../inference/testing.ts";
import { NOT_TRAINED, type Sequence } from "./index.ts";
import { start, user } from "./testing.ts";

/** Positions that are trained on, in order. */
function trained(sequences: readonly Sequence[]) {
  return sequences.flatMap(({ tokens, masks, logprobs }) =>
    tokens.flatMap((token, index) => (masks[index] === NOT_TRAINED ? [] : [[token, masks[index], logprobs[index]]])),
  );
}

const episode = fc.record({
  seed: fc.nat(),
  users: fc.array(fc.string({ unit: fc.constantFrom(..."ab<>|"), maxLength: 6 }), { minLength: 1, maxLength: 6 }),
  maxTokens: fc.integer({ min: 1, max: 30 }),
  specials: fc.boolean(),
});

test.each(["append", "no-end", "strip-thinking"] as const)(
  "with a template that does %s, what was sampled is what is trained on",
  async (template) => {
    await fc.assert(
      fc.asyncProperty(episode, async ({ seed, users, maxTokens, specials }) => {
        const { trajectory, server } = start({ seed, template });
        const forked: boolean[] = [];
        for (const content of users) {
          trajectory.addMessage(user(content));
          const turn = await trajectory.turn({ maxTokens, temperature: 1, skipSpecialTokens: specials });
          forked.push(turn.forked);
        }
        const { sampled } = server;
        const { sequences } = trajectory.rollout();
        expect(trained(sequences)).toEqual(
          sampled.flatMap(({ tokens, logprobs }) => tokens.map((token, index) => [token, token, logprobs[index]])),
        );
        // A fork exactly after each turn whose thoughts the template drops, and nowhere else.
        const thoughts = sampled.map(({ tokens }) => /<think>.*?<\/think>/s.test(decode(tokens, true)));
        const drops = template === "strip-thinking" ? thoughts : thoughts.map(() => false);
        expect(forked).toEqual([false, ...drops.slice(0, -1)]);
        expect(sequences).toHaveLength(1 + forked.filter(Boolean).length);
        // Each turn was sampled after exactly the ids before it in its sequence, and no end stands twice.
        for (const { tokens } of sequences) {
          expect(tokens.some((token, index) => token === END && tokens[index + 1] === END)).toBe(false);
        }
        for (const { prompt, tokens } of sampled) {
          const whole = [...prompt, ...tokens];
          expect(sequences.some((sequence) => whole.every((token, index) => sequence.tokens[index] === token))).toBe(
            true,
          );
        }
        for (const { tokens, masks, logprobs, versions } of sequences) {
          const counted = versions?.reduce((sum, [, count]) => sum + count, 0);
          expect([masks.length, logprobs.length, counted]).toEqual([tokens.length, tokens.length, tokens.length]);
        }
      }),
      { numRuns: 60 },
    );
  },
);
