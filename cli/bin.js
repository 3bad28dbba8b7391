#!/usr/bin/env node
// The `lachesis` command, for whatever Node npm runs on: hands over to the Node of the lock file.
import { fileURLToPath } from "node:url";

process.argv.splice(2, 0, "cli/main.ts");
await import(fileURLToPath(new URL("../scripts/run.js", import.meta.url)));
