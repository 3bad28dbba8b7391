/** What Hono's handlers get. */
export interface AppEnv {
  Bindings: Env;
}
