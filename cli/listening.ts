import { UsageError } from "./usage-error.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What Node or workerd says, and what that means for a person. */
const FAULTS: readonly (readonly [said: RegExp, meaning: (address: Address) => string])[] = [
  [
    /EADDRINUSE|Address already in use/i,
    ({ host, port }) => `port ${port} of ${host} is taken: stop what listens there, or give another --port`,
  ],
  [
    /EADDRNOTAVAIL|Cannot assign requested address|ENOTFOUND|EAI_|DNS lookup failed/i,
    ({ host }) => `--host ${host} is no address of this machine: give one of its own; 127.0.0.1 is there always`,
  ],
  [
    /listen EACCES|bind\(\): Permission denied/i,
    ({ host, port }) => `port ${port} of ${host} needs more rights than this command has: give a --port above 1023`,
  ],
];

/** What to say when an address can't be listened on; null when the error is of another kind. */
export function listenFault(error: unknown, address: Address): UsageError | null {
  if (!(error instanceof Error)) return null;
  const text = `${error.message} ${String(error.cause ?? "")}`;
  const meaning = FAULTS.find(([said]) => said.test(text))?.[1];
  return meaning === undefined ? null : new UsageError(meaning(address));
}
