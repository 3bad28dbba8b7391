/** No number is written with more characters; longer texts are refused unread, so that odd output costs nothing. */
const MAX_CHARACTERS = 400;

const DIGITS = String.raw`(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+(?:\.\d*)?|\.\d+)`;
const SIGNED = String.raw`[+-]?\s*${DIGITS}`;
const FRACTION = /^([+-]?)\s*(?:(\d+)(?=[\s\\]))?\s*(?:\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}|\\frac\s*(\d)\s*(\d))$/;
const RATIO = new RegExp(String.raw`^([+-]?)\s*(?:(\d+)\s+)?(${DIGITS})\s*/\s*(${SIGNED})$`);
const SCIENTIFIC = new RegExp(
  String.raw`^(${SIGNED})\s*(?:[eE]|(?:\\times|\\cdot|×|\*)\s*10\s*\^\s*)\{?([+-]?\d+)\}?$`,
);
const PLAIN = new RegExp(`^${SIGNED}$`);

const MULTIPLES: ReadonlyMap<string, number> = new Map([
  ["hundred", 1e2],
  ["thousand", 1e3],
  ["million", 1e6],
  ["billion", 1e9],
  ["trillion", 1e12],
]);

/**
 * A unit after a number: words, or a symbol of one letter that is no usual name of an unknown (5x is no number), perhaps
 * squared or per something. Separators are not optional, which keeps matching linear.
 */
const UNIT = /^(.*[\d.}])(?:\s*(?!pi\b)[A-Za-z]{2,}|\s*[mgshLJNWVKCF])(?:[\s./·-]+[A-Za-z]+|\s*\^\s*\{?-?\d\}?|[²³])*$/;

/**
 * The number that a text states, or null when it states none or is an expression. Understood: signs, decimals, thousands
 * separators (1,234.5), fractions (3/4, \frac{3}{4}, 2 1/2), scientific notation, "3 million", LaTeX spacing, `\text{…}`
 * and math delimiters, and an assignment (x = 5). Currency, degrees, units and a trailing period are dropped, and so is a
 * percent sign: 50 % is 50. Never throws.
 */
export function parseNumber(text: string): number | null {
  if (text.length > MAX_CHARACTERS) return null;
  const plain = withoutMarkup(text);
  const bare = withoutUnit(plain);
  const value = magnitude(bare.text);
  return value === null || !Number.isFinite(value * bare.factor) ? null : value * bare.factor;
}

function withoutMarkup(text: string): string {
  return text
    .replace(/\\(?:text|mathrm|mathbf|textbf|mathit|textit|mbox|boxed)\s*\{([^{}]*)\}/g, " $1 ")
    .replace(/\{,\}/g, ",")
    .replace(/\\(?:left|right|displaystyle)(?![A-Za-z])/g, "")
    .replace(/(?<=\d),?\\[,!](?=\d{3}(?!\d))/g, ",")
    .replace(/\\(?:[!,;: ]|quad(?![A-Za-z]))|~/g, " ")
    .replace(/\\[()[\]]/g, " ")
    .replace(/\\?[$%]|[€£¥°*`_]|\^\s*\{?\s*\\circ\s*\}?/g, (mark) => (mark === "*" ? "*" : " "))
    .replace(/^[\s*]+|[\s*]+$/g, "")
    .replace(/^.*=/s, "")
    .replace(/[−–]/g, "-")
    .replace(/\\[dtc]frac/g, "\\frac")
    .replace(/[\s.,;:]+$/, "")
    .replace(/^\{(.*)\}$/s, "$1")
    .trim();
}

function withoutUnit(text: string): { text: string; factor: number } {
  const words = /^(.*\d)\s*([A-Za-z]+)(?:\s.*)?$/s.exec(text);
  const multiple = MULTIPLES.get(words?.[2]?.toLowerCase() ?? "");
  if (words?.[1] !== undefined && multiple !== undefined) return { text: words[1], factor: multiple };
  return { text: (UNIT.exec(text)?.[1] ?? text).trim(), factor: 1 };
}

function magnitude(text: string): number | null {
  if (PLAIN.test(text)) return decimal(text);
  const scientific = SCIENTIFIC.exec(text);
  if (scientific) return Number(`${decimal(scientific[1])}e${scientific[2]}`);
  const ratio = RATIO.exec(text);
  if (ratio) return quotient(ratio[1], ratio[2], ratio[3], ratio[4]);
  const fraction = FRACTION.exec(text);
  if (fraction) return quotient(fraction[1], fraction[2], fraction[3] ?? fraction[5], fraction[4] ?? fraction[6]);
  return null;
}

function quotient(sign = "", whole = "0", numerator = "", denominator = ""): number | null {
  const [above, below] = [numerator.trim(), denominator.trim()];
  if (!PLAIN.test(above) || !PLAIN.test(below) || decimal(below) === 0) return null;
  return (sign === "-" ? -1 : 1) * (Number(whole) + decimal(above) / decimal(below));
}

function decimal(text = ""): number {
  return Number(text.replace(/[,\s]/g, ""));
}
