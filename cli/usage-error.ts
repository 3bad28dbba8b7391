/** Something the person at the keyboard can put right. Its message says how. */
export class UsageError extends Error {}
