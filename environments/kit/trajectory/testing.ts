import { type Message, openInference, serverRenderer } from "../inference/index.ts";
import { decode, FakeServer, type FakeServerOptions, fakeEndpoint } from "../inference/testing.ts";
import { NOT_TRAINED, type Sequence, Trajectory, type TrajectoryOptions } from "./index.ts";

export const SAMPLING = { maxTokens: 64, temperature: 1 };
/** A message of the user. */
export const user = (content: string): Message => ({ role: "user", content });

/** A trajectory against a server in memory, which renders its prompts too. */
export function start(serverOptions: FakeServerOptions, options: Partial<TrajectoryOptions> = {}) {
  const server = new FakeServer(serverOptions);
  const inference = openInference(fakeEndpoint(), {
    purpose: "training",
    secretOf: () => undefined,
    fetch: server.fetch,
    wait: async () => {},
  });
  const trajectory = new Trajectory({ inference, renderer: serverRenderer(inference), ...options });
  return { server, inference, trajectory };
}

/** The text of a sequence, with what is trained on in brackets. */
export function shown({ tokens, masks }: Sequence): string {
  let text = "";
  let trained = false;
  tokens.forEach((token, index) => {
    const now = masks[index] !== NOT_TRAINED;
    if (now !== trained) text += now ? "[" : "]";
    trained = now;
    text += decode([token], false);
  });
  return trained ? `${text}]` : text;
}
