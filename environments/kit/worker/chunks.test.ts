import fc from "fast-check";
import { expect, test } from "vitest";
import { chunkMessages } from "./chunks.ts";

test("batches are within the queue's limits, and nothing is lost or moved", () => {
  const sizes = fc.array(fc.oneof(fc.nat(200), fc.integer({ min: 20_000, max: 140_000 })), { maxLength: 250 });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const messages = lengths.map((length, index) => `${index}:${"é".repeat(length / 2)}`);
      const chunks = chunkMessages(messages);
      const bytes = (message: string) => new TextEncoder().encode(JSON.stringify(message)).length;
      for (const { messages: batch, tooLarge } of chunks) {
        expect(batch.length).toBeGreaterThan(0);
        expect(batch.length).toBeLessThanOrEqual(100);
        if (tooLarge) expect(batch.map(bytes).every((size) => size > 127_000)).toBe(true);
        else {
          for (const message of batch) expect(bytes(message)).toBeLessThanOrEqual(128_000);
          expect(batch.reduce((sum, message) => sum + bytes(message), 0)).toBeLessThanOrEqual(256_000);
        }
      }
      const kept = chunks.filter(({ tooLarge }) => !tooLarge).flatMap((chunk) => chunk.messages);
      const refused = new Set(chunks.filter(({ tooLarge }) => tooLarge).flatMap((chunk) => chunk.messages));
      expect(kept).toEqual(messages.filter((message) => !refused.has(message)));
    }),
    { numRuns: 30 },
  );
});
