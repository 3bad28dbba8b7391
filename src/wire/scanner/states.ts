/** What the grammar allows next: numbers, as they are compared for every piece of a body. */
export const START = 0;
export const VALUE = 1;
export const ITEM_OR_END = 2;
export const KEY = 3;
export const KEY_OR_END = 4;
export const COLON_NEXT = 5;
export const AFTER_VALUE = 6;
export const IN_STRING = 7;
export const IN_KEY = 8;
export const IN_NUMBER = 9;
export const IN_WORD = 10;
export const HALTED = 11;

/** What is missing when something else, or the body's end, comes in that state: the words of Python's json. */
export function lacking(state: number): string {
  switch (state) {
    case AFTER_VALUE:
      return "Expecting ',' delimiter";
    case COLON_NEXT:
      return "Expecting ':' delimiter";
    case KEY:
    case KEY_OR_END:
      return "Expecting property name enclosed in double quotes";
    default:
      return "Expecting value";
  }
}
