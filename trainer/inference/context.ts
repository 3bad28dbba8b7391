/** What a request gets from the server besides its body. */
export interface Context {
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** The model's name, as the server gives it. */
  readonly model: string;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  /** The seed asked for, or the next of the server's own. */
  seed(asked: number | null | undefined): number;
}
