import { Machine } from "./machine.ts";
import { GROUP, GROUPS } from "./shapes.ts";
import type { GroupSink, ScanOptions, ScanResult } from "./types.ts";

/**
 * Checks a body of scored groups as its chunks come by, and sends each group's text on: what the client wrote, byte for
 * byte, except that integral floats become integers where integers belong (`5.0` to `5`), integers get their point where
 * floats belong (`0` to `0.0`: trainers build tensors from them), and known fields that are missing are added as null.
 * Of a body of any size it holds a few kilobytes, and two lengths for each sequence of the current group.
 *
 * @example
 * const scanner = new GroupScanner("list", sink);
 * for await (const chunk of request.body) scanner.push(chunk);
 * const result = scanner.end();
 */
export class GroupScanner {
  private readonly machine: Machine;

  /** `mode`: whether the body is one group or a list of groups. */
  constructor(mode: "group" | "list", sink: GroupSink, options: ScanOptions = {}) {
    this.machine = new Machine(mode === "list" ? GROUPS : GROUP, sink, options);
  }

  /** The next bytes of the body, split anywhere. They are not kept. Throws only what the sink throws. */
  push(chunk: Uint8Array): void {
    this.machine.push(chunk);
  }

  /** The body is over: how many groups it held, or what is wrong with it. */
  end(): ScanResult {
    const { machine } = this;
    machine.end();
    return machine.log.any ? { ok: false, errors: machine.log.errors } : { ok: true, groups: machine.judge.groups };
  }

  /** Whether an error was found; the rest of the body can only add errors. */
  get failed(): boolean {
    return this.machine.log.any;
  }
}
