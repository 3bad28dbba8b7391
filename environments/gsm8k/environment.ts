import { completionOf } from "../kit/completion-of.ts";
import { textFromUrl } from "../kit/dataset.ts";
import { defineEnvironment } from "../kit/define.ts";
import { remember } from "../kit/remember.ts";
import { own, presets } from "./config.ts";
import type { Gsm8kItem } from "./item.ts";
import { evaluationItemAt, itemAt } from "./items.ts";
import { parseItems } from "./jsonl.ts";
import { promptOf } from "./prompt.ts";
import { isRight, scoreGroup } from "./score.ts";

const rowsOf = { train: remember<Gsm8kItem[]>(), evaluation: remember<Gsm8kItem[]>() };

/** Word problems whose answer is a number. */
export const environment = defineEnvironment({
  name: "gsm8k",
  description: "word problems whose answer is a number",
  config: own,
  presets,
  items: async (index, { config, split, invocation }): Promise<Gsm8kItem> => {
    const source = split === "train" ? config.source : config.evaluation_source;
    const rows =
      source === "generated"
        ? null
        : await rowsOf[split](
            source,
            async (signal) => parseItems(await textFromUrl(source, signal), source),
            invocation,
          );
    return split === "train" ? itemAt(index, config, rows) : evaluationItemAt(index, config, rows);
  },
  prompt: (item, { config }) => promptOf(item, config),
  answer: ({ value }) => value,
  score: ({ item, rollouts, config }) => scoreGroup(item, rollouts.map(completionOf), config),
  evaluate: async ({ items, run, config }) => {
    const rollouts = await run(items);
    const right = rollouts.filter(({ item, rollout }) => isRight(item, rollout.text, config));
    const truncated = rollouts.filter(({ rollout }) => completionOf(rollout).truncated);
    return {
      accuracy: right.length / rollouts.length,
      items: rollouts.length,
      truncated: truncated.length / rollouts.length,
    };
  },
});
