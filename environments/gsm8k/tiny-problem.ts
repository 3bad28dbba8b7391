import type { Random } from "../kit/random.ts";
import type { Gsm8kItem } from "./item.ts";
import { working } from "./working.ts";

const NAMES = "Mia Leo Ada Tom Zoe Sam Eva Ben".split(" ");
const THINGS = "pears books cards shells coins stamps pens apples".split(" ");
const GAINS = ["gets", "finds", "buys", "wins"];
const LOSSES = ["loses", "sells", "gives away", "drops"];

/** A problem of one step, in a vocabulary so small that a model of a few thousand parameters can learn it. */
export function tinyProblem(random: Random, largest: number): Gsm8kItem {
  const [name, things] = [random.pick(NAMES), random.pick(THINGS)];
  const has = random.int(2, largest - 1);
  const gains = random.next() < 0.5;
  const change = gains ? random.int(1, largest - has) : random.int(1, has - 1);
  const verb = random.pick(gains ? GAINS : LOSSES);
  const value = gains ? has + change : has - change;
  return {
    question: `${name} has ${has} ${things} and ${verb} ${change}${gains ? " more" : ""}. How many ${things}?`,
    answer: `${working(has, gains ? "+" : "-", change)}\n#### ${value}`,
    value,
  };
}
