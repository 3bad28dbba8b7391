/** Digits with or without thousands separators, then decimals. */
const UNSIGNED = String.raw`(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?`;
const FORMS = [
  String.raw`(?:\d{1,3}\s?)?\\[dtc]?frac\s?\{-?\d{1,20}\}\s?\{\d{1,20}\}`,
  String.raw`(?:\d{1,3}\s)?\d{1,20}\s?\/\s?\d{1,20}(?![\d.])`,
  String.raw`${UNSIGNED}(?:[eE][+-]?\d{1,3}(?!\w)|\s?(?:\\times|\\cdot|×|\*)\s?10\^(?:\{[+-]?\d{1,3}\}|[+-]?\d{1,3}))?`,
  String.raw`(?<!\d)\.\d+`,
];

/**
 * A number in running text. Digits that continue a word (`x2`) are none, and a minus after a digit, a letter or a bracket
 * (`5-3`, `x-3`) is an operator, not a sign; before a space it is a bullet.
 */
const NUMBER = new RegExp(
  String.raw`(?:(?<![\w)\]}])[-−])?(?:\\?\$\s?)?(?<![A-Za-z_])(?<!\d)(?:${FORMS.join("|")})(?:\s(?:hundred|thousand|million|billion|trillion)\b)?`,
  "g",
);

/** The last number of a text as it stands there (for `parseNumber`), or null. */
export function finalNumber(text: string): string | null {
  const plain = text.replace(/(?<=\d)(?:\{,\}|,\\!)(?=\d{3})/g, ",");
  let last: string | null = null;
  for (const [number] of plain.matchAll(NUMBER)) last = number;
  return last;
}
