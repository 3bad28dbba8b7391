import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

/** Tests that need no Workers runtime, or that start one of their own. */
const NODE = [
  "cli/**/*.test.ts",
  "bench/**/*.test.ts",
  "scripts/**/*.test.ts",
  "environments/**/*.test.ts",
  "trainer/**/*.test.ts",
  "src/wire/scanner/**/*.test.ts",
  "durable-objects/run/assembler/**/*.test.ts",
];

/** A loaded machine is slow, which is no fault: what waits for an event that doesn't come ends all the same. */
const PATIENT = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } };

export default defineConfig({
  test: {
    // What Workers log is of interest where a test fails.
    silent: "passed-only",
    projects: [
      {
        test: {
          ...PATIENT,
          name: "node",
          include: [
            ...NODE,
            "test/conformance/**/*.test.ts",
            "test/rollouts/**/*.test.ts",
            "test/chaos/**/*.test.ts",
            "test/*.test.ts",
          ],
        },
      },
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              // The least disk that tests can fill in no time.
              bindings: { AUTH_SECRET: "a secret for tests that is long enough", DISK_LIMIT_MIB: "8" },
            },
          }),
        ],
        test: {
          ...PATIENT,
          name: "workers",
          include: ["src/**/*.test.ts", "durable-objects/**/*.test.ts", "test/fuzz/**/*.test.ts"],
          exclude: NODE,
        },
      },
    ],
  },
});
