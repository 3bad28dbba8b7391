/** A word problem, in the fields of GSM8K. */
export interface Gsm8kItem {
  readonly question: string;
  /** The worked solution; ends in `#### n`. */
  readonly answer: string;
  /** That n. */
  readonly value: number;
}
