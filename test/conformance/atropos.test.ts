import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LocalServer, startServer } from "../../cli/server/local-server.ts";
import { type Answer, send } from "../support/http.ts";
import { ours } from "./ours.ts";
import { parseSpelt, printSpelt, readScenarios, Spelt, type Step } from "./scenarios.ts";

const scenarios = readScenarios();

let server: LocalServer;
beforeAll(async () => {
  server = await startServer({
    host: "127.0.0.1",
    port: 0,
    state: null,
    variables: { ALLOW_ANONYMOUS: "true" },
    onLog: () => undefined,
  });
});
afterAll(() => server.stop());

test("holds 62 scenarios, and an expectation for each step whose recorded answer is a defect", () => {
  expect(scenarios).toHaveLength(62);
  const defects = scenarios.flatMap(({ name, steps }) =>
    steps.flatMap((step, index) => (step.ours === undefined ? [] : [`${name}: ${index}`])),
  );
  const expected = Object.entries(ours).flatMap(([name, steps]) =>
    Object.keys(steps).map((index) => `${name}: ${index}`),
  );
  expect(expected.toSorted()).toEqual(defects.toSorted());
});

/** A fresh run for a scenario, and the prefix of its paths. */
const placements: Readonly<Record<string, (index: number) => Promise<string>>> = {
  "below a run": async (index) => `/runs/scenario-${index}`,
  "below a label": async (index) => `/runs/labelled-${index}/as/math`,
  "at the root, reset before each": async () => {
    await send({ method: "GET", url: new URL("/reset_data", server.url) });
    return "";
  },
};

describe.each(Object.entries(placements))("%s", (_where, place) => {
  test.each(scenarios.map((scenario, index) => ({ ...scenario, index })))("$name", async ({ name, steps, index }) => {
    const prefix = await place(index);
    for (const [position, step] of steps.entries()) {
      // Written for the root: elsewhere an unknown path and "/" are below the prefix too.
      const answer = await exchange(prefix, step);
      const expectation = ours[name]?.[position];
      if (expectation !== undefined) {
        const body = answer.headers["content-type"]?.includes("json") ? JSON.parse(answer.text) : answer.text;
        expectation({ status: answer.status, body });
      } else expectRecorded(answer, step);
    }
  });
});

function exchange(prefix: string, { request }: Step): Promise<Answer> {
  const { method, path, json, text, headers, gzip } = request;
  const body = text ?? (json === undefined ? undefined : printSpelt(json));
  return send({
    method,
    url: new URL(prefix + path, server.url),
    ...(body === undefined ? {} : { body }),
    ...(headers === undefined ? {} : { headers }),
    ...(gzip === undefined ? {} : { gzip }),
  });
}

function expectRecorded(answer: Answer, { request, response }: Step): void {
  expect(answer.status).toBe(response.status);
  expect(String(answer.headers["content-type"]).split(";")[0]).toBe(response.content_type.split(";")[0]);
  expect(answer.headers["content-encoding"] ?? null).toBe(response.content_encoding);
  if (!response.content_type.includes("json")) {
    expect(answer.text).toBe(response.body);
    return;
  }
  // Numbers of groups come back as they were spelt; elsewhere their value counts.
  const isGroups = request.method === "GET" && /^\/(batch|latest_example)$/.test(request.path);
  const [got, recorded] = [parseSpelt(answer.text), response.body].map((body) =>
    comparable(isGroups ? body : unspelt(body)),
  );
  expect(got).toEqual(recorded);
}

/** What is left free is taken out: the order of groups, the wording of faults, which number a uuid is. */
function comparable(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  if ("uuid" in body) return { ...body, uuid: is128Bits(body.uuid) };
  if ("batch" in body && Array.isArray(body.batch)) return { ...body, batch: body.batch.map(printSpelt).toSorted() };
  if ("detail" in body && Array.isArray(body.detail)) {
    return { detail: body.detail.map((fault) => ({ type: Object(fault).type, loc: Object(fault).loc })) };
  }
  return body;
}

function is128Bits(uuid: unknown): boolean {
  const digits = typeof uuid === "bigint" || typeof uuid === "number" ? `${uuid}` : uuid;
  return digits === "<a 128-bit integer>" || (typeof digits === "string" && /^\d{30,39}$/.test(digits));
}

function unspelt(value: unknown): unknown {
  if (value instanceof Spelt) return value.spelling.length > 17 ? value.spelling : Number(value.spelling);
  if (Array.isArray(value)) return value.map(unspelt);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, unspelt(entry)]));
}
