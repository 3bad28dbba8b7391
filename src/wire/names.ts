import { z } from "zod";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const WORDS = "1 to 128 letters, digits, dots, dashes and underscores, the first a letter or digit";

/** A run's name, as in the path. */
export const runName = z.string().regex(NAME, `a run's name has ${WORDS}`);

/** A label an environment's path carries. */
export const label = z.string().regex(NAME, `a label has ${WORDS}`);

/** The run of a request whose path names none. */
export const DEFAULT_RUN = "default";
