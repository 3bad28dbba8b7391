import { completionOf } from "../kit/completion-of.ts";
import { defineEnvironment } from "../kit/define.ts";
import { own } from "./config.ts";
import { evaluationItemAt, itemAt } from "./items.ts";
import { groupMean, levelDropReason, levelState, nextState, startState } from "./level.ts";
import { promptOf } from "./prompt.ts";
import { scoreGroup } from "./score.ts";

/** How often letters occur in words and random strings, at a level of difficulty that follows the scores. */
export const environment = defineEnvironment({
  name: "letter-counting",
  description: "how often letters occur in words and random strings",
  config: own,
  presets: {
    // For a model of a few thousand parameters, which has no tags to answer in.
    tiny: { sources: ["number"], system_prompt: "", max_tokens: 8, max_token_length: 256 },
  },
  items: (index, { config, state, split }) =>
    split === "train" ? itemAt(index, config, state) : evaluationItemAt(index, config, state),
  prompt: (item, { config }) => promptOf(item, config),
  score: ({ item, rollouts, config }) => scoreGroup(item, rollouts.map(completionOf), config),
  filter: ({ scores, config }) => levelDropReason(groupMean(scores), config),
  state: {
    schema: levelState,
    initial: startState,
    reduce: (state, { item, scores }, config) => nextState(state, groupMean(scores), config, item.level),
  },
});
