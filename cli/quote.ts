/** A password in an address, a query that may be a token, or a token as this project signs them. */
const MAY_HOLD_TOKEN = /@|:\/\/.*[?#]|eyJ[\w-]+\./s;

/** Whether a value of the command line, misplaced perhaps, must stand on no screen and in no log. */
export function mayHoldToken(value: string): boolean {
  return MAY_HOLD_TOKEN.test(value);
}

/** A value as messages quote it. */
export function quote(value: string): string {
  return mayHoldToken(value) ? "what may hold a token, so it isn't shown" : JSON.stringify(value);
}
