import { z } from "zod";

/**
 * Writes defaults down. Numbers are read from texts too, so zod takes them for transformed, and leaves out the defaults that
 * stand after that.
 */
export function withDefaults({ zodSchema, jsonSchema }: Overridden): void {
  if (zodSchema instanceof z.ZodDefault) jsonSchema.default = zodSchema.def.defaultValue;
}

interface Overridden {
  readonly zodSchema: z.core.$ZodType;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** A parameter of a route, as OpenAPI has it. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description: string;
  readonly schema: {
    readonly type: "integer" | "number" | "string";
    readonly minimum?: number;
    readonly maximum?: number;
    readonly pattern?: string;
    readonly default?: number | string;
  };
}

/** What zod says of a number or a text. */
const field = z.object({
  type: z.enum(["integer", "number", "string"]),
  description: z.string().default(""),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  pattern: z.string().optional(),
  default: z.union([z.number(), z.string()]).optional(),
});

/**
 * The fields of an object as parameters: numbers and texts. Those of a path must be there, others needn't.
 * @throws ZodError for a field of another type.
 */
export function parameters(place: Parameter["in"], schema: z.ZodObject | undefined): Parameter[] {
  if (schema === undefined) return [];
  const { properties = {} } = z.toJSONSchema(schema, { io: "input", override: withDefaults });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = field.parse(property);
    return { name, in: place, required: place === "path", description, schema: defined(rest) };
  });
}

/** Without the keys that hold nothing, which JSON leaves out and the types don't allow. */
function defined(schema: Omit<z.infer<typeof field>, "description">): Parameter["schema"] {
  const { type, minimum, maximum, pattern, default: preset } = schema;
  return {
    type,
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(pattern === undefined ? {} : { pattern }),
    ...(preset === undefined ? {} : { default: preset }),
  };
}
