import { z } from "zod";

/** Who a token is for. */
export const role = z.enum(["environment", "trainer", "viewer", "admin"]);
export type Role = z.infer<typeof role>;

/** What a route does to a run. */
export type Action = "read" | "submit" | "train";

const ALLOWED: Readonly<Record<Role, readonly Action[]>> = {
  environment: ["read", "submit"],
  trainer: ["read", "train"],
  viewer: ["read"],
  admin: ["read", "submit", "train"],
};

export function mayDo(who: Role, action: Action): boolean {
  return ALLOWED[who].includes(action);
}
