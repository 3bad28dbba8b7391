/** The flags the runtime puts on errors of calls to Durable Objects. */
function flag(error: unknown, name: "retryable" | "overloaded" | "durableObjectReset"): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, name) === true;
}

/** An object that is overloaded must be left alone: a retry makes it worse. */
export function isOverloaded(error: unknown): boolean {
  return flag(error, "overloaded");
}

/** The call failed for a passing reason: the object moved, was deployed anew, ended at work or lost its connection. */
export function isPassing(error: unknown): boolean {
  return flag(error, "retryable") || flag(error, "overloaded") || flag(error, "durableObjectReset");
}

const ATTEMPTS = 4;
const FIRST_WAIT_MS = 50;

/**
 * Calls an idempotent operation of another object until it works, four times at most, with doubling waits. `operation`
 * must take a new stub each time: after a throw the old one is broken.
 * @throws the last error; at once when the object is overloaded.
 */
export async function retry<T>(operation: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (attempt === ATTEMPTS || isOverloaded(error)) throw error;
      await scheduler.wait(FIRST_WAIT_MS * 2 ** (attempt - 1));
    }
  }
}
