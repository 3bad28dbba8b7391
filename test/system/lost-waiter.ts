import { once } from "node:events";
import { connect } from "node:net";
import { send } from "../support/http.ts";
import { check } from "./checks.ts";
import { registration, type ServerProcess, withServer } from "./server.ts";

const GROUP = '{"tokens": [[1], [2]], "masks": [[1], [2]], "scores": [0.0, 1.0]}';
const SERVED_WITHIN_MS = 15_000;

/** A batch that falls to a waiting request whose connection was reset goes to the next who asks. */
export function lostWaiter(): Promise<void> {
  return withServer(cutOffWhileWaiting);
}

async function cutOffWhileWaiting(server: ServerProcess): Promise<void> {
  await send({ method: "POST", url: `${server.url}/register`, body: registration(2) });
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(`GET /batch?wait=60 HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  await until(async () => (await text(server, "/status?explain")).includes('"waiting_trainers":1'));
  socket.resetAndDestroy();
  await send({ method: "POST", url: `${server.url}/scored_data`, body: GROUP });
  const served = await until(async () => (await text(server, "/batch")).includes('"tokens"'));
  check("a batch whose waiting trainer was cut off is served to the next", served);
}

async function text(server: ServerProcess, path: string): Promise<string> {
  return (await send({ method: "GET", url: `${server.url}${path}` })).text;
}

/** Polls until `holds`, for a while. */
async function until(holds: () => Promise<boolean>): Promise<boolean> {
  const deadline = Date.now() + SERVED_WITHIN_MS;
  while (Date.now() < deadline) {
    if (await holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
