import { environmentWorker } from "../kit/worker/index.ts";
import type { Env } from "./env.d.ts";
import { environment } from "./environment.ts";

export default environmentWorker(environment) satisfies ExportedHandler<Env>;
