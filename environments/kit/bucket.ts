import { z } from "zod";

/** What is needed of an R2 bucket. */
const bucket = z.custom<{ get(key: string): Promise<{ text(): Promise<string> } | null> }>(
  (value) => typeof value === "object" && value !== null && typeof Reflect.get(value, "get") === "function",
);

/**
 * Reads an object of an R2 bucket; null if there is none.
 * @param env the Worker's bindings, by name
 * @param binding the bucket's name in wrangler.toml
 * @throws Error naming a binding that is none
 */
export async function textFromBucket(
  env: Readonly<Record<string, unknown>>,
  binding: string,
  key: string,
): Promise<string | null> {
  const found = bucket.safeParse(env[binding]);
  if (!found.success) {
    throw new Error(`there is no bucket ${binding}: add [[r2_buckets]] with binding = "${binding}" to wrangler.toml`);
  }
  const object = await found.data.get(key);
  return object === null ? null : object.text();
}

/** A fetch that also knows the addresses of objects in buckets: r2://BINDING/KEY. What isn't there is a 404. */
export function fetchFrom(env: Readonly<Record<string, unknown>>) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const { protocol, host, pathname } = new URL(url);
    if (protocol !== "r2:") return fetch(url, init);
    const text = await textFromBucket(env, host, decodeURIComponent(pathname.slice(1)));
    return new Response(text, { status: text === null ? 404 : 200 });
  };
}
