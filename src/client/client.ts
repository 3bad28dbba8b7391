import { z } from "zod";

const overview = z.looseObject({
  current_step: z.int(),
  queue_size: z.int(),
  explain: z.looseObject({ reason: z.string(), message: z.string(), queued_sequences: z.int() }),
  received_groups: z.int(),
  environments: z.looseObject({ connected: z.int(), alive: z.int() }),
});

/** What a run says of itself when asked to explain. */
export type Overview = z.infer<typeof overview>;

export interface ClientOptions {
  /** The server's URL, with or without /runs/RUN. */
  readonly url: string | URL;
  readonly token?: string | undefined;
}

/** An answer that was not a success, in the server's words. */
export class ClientError extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(`${status}: ${detail}`);
    this.status = status;
  }
}

/** The public API, typed. */
export class Client {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor({ url, token }: ClientOptions) {
    this.#base = String(url).replace(/\/$/, "");
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  }

  /** Step, queue, environments, and why no batch is ready. */
  async overview(): Promise<Overview> {
    return overview.parse(await this.#get("/status?explain"));
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.#base}${path}`, { headers: this.#headers });
    if (!response.ok) throw new ClientError(response.status, await response.text());
    return response.json();
  }
}
