import type { Operator } from "./working.ts";

/**
 * What a word problem tells. Sentences have gaps: {name}, {friend}, {things}, and {a} and {b} for numbers ({$a} in dollars), which are at least
 * 2, so that plurals are right.
 */
export interface Story {
  /** How many there are: {a}, or {a} times {b}. */
  readonly opening: string;
  readonly opensWith: "count" | "product";
  /** What happens next, by what {a} does to the number there is. */
  readonly changes: Readonly<Partial<Record<Operator, readonly string[]>>> & {
    "+": readonly string[];
    "-": readonly string[];
  };
  readonly question: string;
}

export const STORIES: readonly Story[] = [
  {
    opening: "{name} has {a} {things}.",
    opensWith: "count",
    changes: {
      "+": [
        "{friend} gives {name} {a} more.",
        "Then {name} finds {a} more {things}.",
        "The next day {name} buys {a} more.",
      ],
      "-": [
        "{name} gives {a} of them to {friend}.",
        "Then {name} loses {a} {things}.",
        "{a} of the {things} get broken.",
      ],
      "*": ["A week later {name} has {a} times as many."],
      "/": ["{name} puts the {things} into {a} equal piles and keeps only one pile."],
    },
    question: "How many {things} does {name} have now?",
  },
  {
    opening: "{name} buys {a} packs of {things} with {b} {things} in each pack.",
    opensWith: "product",
    changes: {
      "+": ["At home there are {a} more {things}.", "{friend} brings {a} more {things}."],
      "-": ["{a} {things} are used up at once.", "{friend} takes {a} of the {things}."],
      "*": ["In the end there are {a} times as many, because others bring some too."],
      "/": ["All of the {things} are shared equally among {a} children, and {name} is one of them."],
    },
    question: "How many {things} are left for {name}?",
  },
  {
    opening: "{name} orders {a} {things} at a price of {$b} each.",
    opensWith: "product",
    changes: {
      "+": ["Delivery costs {$a} more.", "A tip adds {$a} to the bill."],
      "-": ["A coupon takes {$a} off the bill.", "{friend} pays {$a} of it."],
      "*": ["{name} orders all of this {a} times in a month."],
      "/": ["{name} and some friends, {a} people in all, split the bill equally."],
    },
    question: "How many dollars does {name} pay in total?",
  },
  {
    opening: "A train with {name} on board goes {b} miles every hour for {a} hours.",
    opensWith: "product",
    changes: {
      "+": ["Then it goes {a} miles further.", "After a stop it goes another {a} miles in the same direction."],
      "-": ["Then it has to go back {a} miles.", "It returns {a} miles to pick up {friend}."],
    },
    question: "How many miles from the start is {name} at the end?",
  },
  {
    opening: "{name} earns {$b} an hour and works for {a} hours.",
    opensWith: "product",
    changes: {
      "+": ["{friend} adds a gift of {$a}.", "A bonus of {$a} comes on top."],
      "-": ["Lunch costs {name} {$a}.", "{name} pays back {$a} to {friend}."],
      "*": ["By saving for months, {name} then has {a} times that money."],
      "/": ["{name} divides the money into {a} equal parts and puts all but one part into the bank."],
    },
    question: "How many dollars does {name} have at hand?",
  },
  {
    opening: "There are {a} {things} in a box that {name} opens.",
    opensWith: "count",
    changes: {
      "+": ["{name} adds {a} {things}.", "{friend} puts in {a} more."],
      "-": ["{name} takes out {a} of them.", "{friend} throws away {a} old ones."],
      "*": ["{name} then fills the box until it holds {a} times that number."],
      "/": ["The {things} are then spread evenly over {a} boxes, of which {name} looks at one."],
    },
    question: "How many {things} are in the box that {name} has?",
  },
];

export const NAMES = "Mia Leo Ada Tom Zoe Sam Eva Ben Ida Max Lily Omar Nina Paul Rosa Yuki Ravi Anna Hugo Tara".split(
  " ",
);
export const THINGS =
  "pears books cards shells coins stamps pens apples stickers marbles buttons beads cookies balls".split(" ");
