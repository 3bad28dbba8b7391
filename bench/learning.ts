import { parseArgs } from "node:util";
import { problemAt } from "../environments/gsm8k/problems.ts";
import { learnOffline } from "../trainer/grpo/offline.ts";
import { Adam, createPolicy } from "../trainer/policy/index.ts";

/** Prints how the reward rises on gsm8k's tiny problems, in one process: one line a seed, a mean of ten steps a column. */

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1,2,3" },
    steps: { type: "string", default: "150" },
    groups: { type: "string", default: "16" },
    "group-size": { type: "string", default: "8" },
    "learning-rate": { type: "string", default: "0.003" },
    staleness: { type: "string", default: "0" },
    entropy: { type: "string", default: "0.01" },
  },
});

const SETTINGS = { difficulty: "tiny", largest_number: null, steps: [1, 1] } as const;

for (const seed of values.seeds.split(",").map(Number)) {
  const begin = process.cpuUsage();
  const policy = createPolicy({ seed });
  const pretrained = process.cpuUsage(begin).user / 1e6;
  const curve = learnOffline({
    policy,
    optimizer: new Adam(policy.weights.length, { learningRate: Number(values["learning-rate"]) }),
    problemAt: (index) => {
      const { question, value } = problemAt(index, { ...SETTINGS, seed });
      return { question, value };
    },
    steps: Number(values.steps),
    groups: Number(values.groups),
    groupSize: Number(values["group-size"]),
    staleness: Number(values.staleness),
    loss: { entropyBonus: Number(values.entropy) },
    seed,
  });
  const means: string[] = [];
  for (let at = 0; at < curve.length; at += 10) {
    const window = curve.slice(at, at + 10).filter(({ sampledSequences }) => sampledSequences > 0);
    means.push((window.reduce((sum, { rewardMean }) => sum + rewardMean, 0) / window.length).toFixed(2));
  }
  const sequences = curve.reduce((sum, { sampledSequences }) => sum + sampledSequences, 0);
  const seconds = process.cpuUsage(begin).user / 1e6;
  console.log(
    `seed ${seed}: ${means.join(" ")} (${policy.weights.length} weights, ${sequences} sequences sampled, ` +
      `${pretrained.toFixed(1)} s pre-training, ${(seconds - pretrained).toFixed(1)} s CPU in all else)`,
  );
}
