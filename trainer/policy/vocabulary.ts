/** Tokens that shape a conversation. They can't be written in a message: there their text is spelled. */
export const SPECIAL = {
  padding: "<|pad|>",
  /** Begins every conversation. */
  beginning: "<|begin|>",
  /** Ends every message: what a completion stops at. */
  end: "<|end|>",
  system: "<|system|>",
  user: "<|user|>",
  assistant: "<|assistant|>",
  tool: "<|tool|>",
} as const;

/** What an answer is wrapped in. */
const MARKS = ["\\boxed{", "<answer>", "</answer>", "<think>", "</think>"];

/** Space to tilde, and the newline. */
const CHARACTERS = ["\n", ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))];

/** A byte outside {@link CHARACTERS} is two of these: its high and its low half. */
export const HALF_BYTES = Array.from({ length: 16 }, (_, i) => `<0x${i.toString(16).toUpperCase()}>`);

/** 0 to 9 are characters. */
const NUMBERS = Array.from({ length: 90 }, (_, i) => String(10 + i));

/** Words that often open a text, or follow a quotation mark or a bracket: known without the space before them too. */
const OPENERS = words(`
  Ada Anna Ben Eva Give He How Leo Lena Max Mia Nina Noah Omar Put Sam She So Solve The They Tom What Zoe
`);

/** Words known with the space before them. Everything else is spelled. */
const WORDS = words(`
  a after all altogether an and answer apples are as at away bag bags balls basket birds books box boxes buys by cakes cards
  coins cookies cost costs count day days does drops each eats eggs every final finds flowers for friend from gave gets gives has
  have her him his hour hours how in into is it left letter letters loses made makes many marbles minus more much number of
  on one other out over packs pages pears pencils pens per plums plus price problem put reads same sells shells she he solve
  stamps starts step stickers string takes than that the their them then there they think times to today total toys two was wins
  were what with word you your
`);

/** Every token's text, by its id. Checkpoints depend on the order: append only, and raise the checkpoint's version. */
export const VOCABULARY: readonly string[] = [
  ...Object.values(SPECIAL),
  ...MARKS,
  ...CHARACTERS,
  ...HALF_BYTES,
  ...NUMBERS,
  ...OPENERS,
  ...[...new Set([...OPENERS.filter((word) => /^[A-Z]/.test(word)), ...WORDS])].map((word) => ` ${word}`),
];

export const MARK_TEXTS: readonly string[] = MARKS;

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}
