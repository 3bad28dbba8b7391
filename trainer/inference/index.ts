export { type InferenceServer, type InferenceServerOptions, startInferenceServer } from "./server.ts";
