import { app } from "./app.ts";

export { PayloadShard } from "../durable-objects/payload-shard/durable-object.ts";
export { Run } from "../durable-objects/run/durable-object.ts";

export default app;
