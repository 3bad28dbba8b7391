export {
  type CompletionScorer,
  defineGroupReward,
  defineReward,
  type RewardDefinition,
  type RewardedCompletion,
  type RewardFunction,
  type RewardGroup,
} from "./define.ts";
export { register, reward, rewardNames, rewardSchema } from "./registry.ts";
export { RewardError } from "./reward-error.ts";
