export { checkJson } from "./check-json.ts";
export { GroupScanner } from "./group-scanner.ts";
export type { GroupSink, Location, ScanError, ScannedGroup, ScanOptions, ScanResult } from "./types.ts";
