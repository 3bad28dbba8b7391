import { z } from "zod";

const marked = new WeakSet<z.core.$ZodType>();

/** Marks a field whose value no answer repeats: it may hold a key or a password. Mark it last, as `describe` makes a copy. */
export function confidential<Schema extends z.ZodType>(schema: Schema): Schema {
  marked.add(schema);
  return schema;
}

/**
 * Whether what stands at `path` of a message may hold something confidential. Of an object or a list that has room for such
 * a field all of it may: a misspelt name or a wrong shape doesn't make a key less of one.
 */
export function mayBeConfidential(schema: z.core.$ZodType, path: readonly PropertyKey[]): boolean {
  if (marked.has(schema)) return true;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return mayBeConfidential(schema.unwrap(), path);
  const [step, ...rest] = path;
  if (schema instanceof z.ZodArray) return mayBeConfidential(schema.element, rest);
  if (!(schema instanceof z.ZodObject)) return false;
  const fields: (z.core.$ZodType | undefined)[] =
    step === undefined ? Object.values(schema.shape) : [schema.shape[String(step)]];
  return fields.some((field) => field !== undefined && mayBeConfidential(field, rest));
}
