import { z } from "zod";
import { defineEnvironment } from "../../../environments/kit/define.ts";
import { environmentWorker } from "../../../environments/kit/worker/index.ts";

/** What a group of these environments carries beside the stock fields, so that a test knows where it comes from. */
export const origin = z.looseObject({ item: z.int(), environment: z.string() });

/**
 * An environment for tests: item i is the number i, rollouts are conversations of `turns` turns, scores alternate. One turn is
 * sampled as a whole group, several turns one rollout at a time.
 */
export function conversation(name: string) {
  const config = z.object({ turns: z.int().default(1) });
  return environmentWorker(
    defineEnvironment({
      name,
      config,
      items: (index) => index,
      rollouts: async ({ item, policy, config: { turns }, size }) => {
        const question = [{ role: "user" as const, content: `item ${item} of ${name}` }];
        if (turns === 1) return policy.sample(question, size);
        const rollout = async () => {
          const trajectory = policy.trajectory({ messages: question });
          for (let turn = 1; turn <= turns; turn++) {
            await trajectory.turn(policy.sampling);
            if (turn < turns) trajectory.addMessage({ role: "user", content: `go on, ${turn}` });
          }
          return trajectory.rollout();
        };
        return Promise.all(Array.from({ length: size }, rollout));
      },
      score: ({ rollouts }) => rollouts.map((_, index) => (index % 2 === 0 ? 1 : -1)),
      finish: (group, { item }) => ({ ...group, item, environment: name }),
    }),
  );
}
