/** One thing that happened, for the platform's structured logs. Never payloads, never secrets; errors as they were told. */
export interface LogEntry {
  readonly level: "info" | "warn" | "error";
  readonly event: string;
  readonly environment: string;
  readonly run: string;
  readonly lease?: number;
  readonly item?: number | null;
  readonly reason?: string;
  readonly message?: string;
  readonly [detail: string]: string | number | boolean | null | undefined;
}

export type Log = (entry: LogEntry) => void;

/** The Worker's console, whose objects the platform keeps as they are. */
export const consoleLog: Log = (entry) => {
  if (entry.level === "error") console.error(entry);
  else if (entry.level === "warn") console.warn(entry);
  else console.log(entry);
};

/** What an error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
