import { z } from "zod";

const MIB = 1024 * 1024;

const settings = z.object({ DISK_LIMIT_MIB: z.coerce.number().positive().default(9_216) });

/**
 * Bytes an object's database may have before no more groups are taken in. Cloudflare ends at 10 GB; what is below is for the
 * rows that reads, acks and deletes write, which go on.
 * @throws ZodError
 */
export function diskLimit(env: object): number {
  return settings.parse(env).DISK_LIMIT_MIB * MIB;
}

/** Whether an error says that the disk is full: the limit above is ours, and the platform's may come first. */
export function isDiskFull(error: unknown): boolean {
  return /SQLITE_FULL|database or disk is full|storage limit/i.test(String(error));
}
