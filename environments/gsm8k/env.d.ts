// Generated from wrangler.toml by: npm run types
export interface Env {
  ROLLOUTS: Queue;
  RUN: string;
  PRESET: string;
  CONFIG: string;
  LACHESIS: Fetcher /* lachesis */;
}
