import fc from "fast-check";

/** A body as a tree whose leaves are text: what JSON allows, and what it doesn't. */
export type Tree =
  | string
  | { readonly list: readonly Tree[] }
  | { readonly object: readonly (readonly [string, Tree])[] };

/** The text of a tree. Keys are given as they stand between the quotes. */
export function print(tree: Tree): string {
  if (typeof tree === "string") return tree;
  if ("list" in tree) return `[${tree.list.map(print).join(",")}]`;
  return `{${tree.object.map(([key, value]) => `"${key}":${print(value)}`).join(",")}}`;
}

export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { list: value.map(treeOf) };
  if (typeof value === "object" && value !== null) {
    return { object: Object.entries(value).map(([key, item]) => [JSON.stringify(key).slice(1, -1), treeOf(item)]) };
  }
  return JSON.stringify(value) ?? "null";
}

const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;

/** Values that code for one of them has been wrong about. */
const ODD_VALUES: readonly Tree[] = [
  ...["null", "true", "false", "[]", "{}", "[[]]", "[null]", "[[[[1]]]]", '{"":0}', '{"__proto__":1}'],
  ...[
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "3",
    "64",
    "65",
    "1.5",
    "8.0",
    "8e0",
    "80e-1",
    "1e2",
    "-0.0",
    "1e-400",
    "1e308",
    "-100",
  ],
  ...["1e309", "-1e309", "2147483648", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993"],
  ...["-9007199254740992", "18446744073709551616", "NaN", "Infinity", "-Infinity", "nan", "None", "True", "undefined"],
  ...[
    "0x10",
    "01",
    "+1",
    ".5",
    "1.",
    "1_000",
    "1e",
    "--1",
    "'a'",
    "-",
    `1${"0".repeat(2_047)}`,
    `1${"0".repeat(2_048)}`,
  ],
  ...[
    `0.${"0".repeat(2_100)}1`,
    '""',
    '"a"',
    '"8"',
    '" 8 "',
    '"8.0"',
    '"8.5"',
    '"1e3"',
    '"-1"',
    '"NaN"',
    '"0x10"',
    '"1_0"',
  ],
  ...[
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
    '"a\\u0000b"',
    '"\u0000"',
    '"é𝄞"',
    '"\\ud834\\udd1e"',
    '"\\x"',
    '"\\u12"',
  ],
  ...[
    '"\n"',
    '"\u2028"',
    '"\ufeff"',
    `"${"x".repeat(257)}"`,
    `"${"é".repeat(5_000)}"`,
    `"${"x".repeat(20_000)}"`,
    `"${"x".repeat(1_200_000)}"`,
  ],
  ...[
    nested(10),
    nested(60),
    nested(70),
    nested(2_000),
    nested(30_000),
    "[".repeat(100),
    `{"a":`.repeat(100),
    "",
    ",",
    "]",
    "}",
  ],
];

const ODD_KEYS = [
  ...[
    "",
    "tokens",
    "TOKENS",
    "tok\\u0065ns",
    "scores",
    "env_id",
    "policy_version",
    "__proto__",
    "constructor",
    "toString",
  ],
  ...[
    "extra",
    "\\ud800",
    "\\u0000",
    "x".repeat(5_000),
    "é",
    "role",
    "content",
    "messages",
    "images",
    "reason",
    "batch_size",
  ],
];

/** One change to a tree: where (any number names a place), what, and with which odd value. */
export interface Mutation {
  readonly place: number;
  readonly operation: number;
  readonly odd: number;
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({ place: fc.nat(9_999), operation: fc.nat(), odd: fc.nat() });

/** What may happen to a value: it becomes other values, none (it is gone), or several in its place. */
type Operation = (value: Tree, odd: Tree) => readonly Tree[];

const OPERATIONS: readonly Operation[] = [
  (_value, odd) => [odd],
  (_value, odd) => [odd],
  () => [],
  (value) => [value, value],
  (value, odd) => [value, odd],
  (value) => [{ list: [value] }],
  (value, odd) => [
    {
      object: [
        ["a", value],
        ["b", odd],
      ],
    },
  ],
  (value) => [typeof value === "string" ? "null" : "list" in value ? { list: [] } : { object: [] }],
  (value, odd) => [typeof value === "string" ? `"${value}"` : grown(value, odd)],
  (value) => [typeof value === "string" ? value : shortened(value)],
  (value) => [typeof value !== "string" && "list" in value ? { list: value.list.toReversed() } : value],
];

function grown(value: Exclude<Tree, string>, odd: Tree): Tree {
  if ("list" in value) return { list: [...value.list, odd] };
  const key = ODD_KEYS[print(odd).length % ODD_KEYS.length] ?? "";
  return { object: [...value.object, [key, odd]] };
}

function shortened(value: Exclude<Tree, string>): Tree {
  return "list" in value ? { list: value.list.slice(1) } : { object: value.object.slice(1) };
}

/** The tree with one value changed. */
export function mutate(tree: Tree, { place, operation, odd }: Mutation): Tree {
  const change = OPERATIONS[operation % OPERATIONS.length];
  const value = ODD_VALUES[odd % ODD_VALUES.length];
  if (change === undefined || value === undefined) return tree;
  let left = place % count(tree);
  const visit = (node: Tree): readonly Tree[] => {
    if (left-- === 0) return change(node, value);
    if (typeof node === "string") return [node];
    if ("list" in node) return [{ list: node.list.flatMap(visit) }];
    return [{ object: node.object.flatMap(([key, item]) => visit(item).map((changed) => [key, changed] as const)) }];
  };
  return visit(tree)[0] ?? "";
}

/** The object with one field set. */
export function withField(tree: Tree, name: string, value: unknown): Tree {
  if (typeof tree === "string" || !("object" in tree)) return tree;
  return { object: [...tree.object.filter(([key]) => key !== name), [name, treeOf(value)]] };
}

function count(tree: Tree): number {
  if (typeof tree === "string") return 1;
  const items = "list" in tree ? tree.list : tree.object.map(([, item]) => item);
  return items.reduce((sum, item) => sum + count(item), 1);
}
