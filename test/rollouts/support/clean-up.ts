import { afterEach } from "vitest";

/** What a test has to undo, whatever becomes of it. */
const tasks: (() => unknown)[] = [];

afterEach(async () => {
  for (const task of tasks.splice(0).reverse()) await task();
});

export function cleanUp(task: () => unknown): void {
  tasks.push(task);
}
