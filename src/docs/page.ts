import { html, raw } from "hono/html";
import type { generateSpecs } from "hono-openapi";

type Document = Awaited<ReturnType<typeof generateSpecs>>;
type Operation = NonNullable<NonNullable<Document["paths"][string]>["get"]>;
type Markup = ReturnType<typeof html>;

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;
const SUCCESS = "200";
const PLACES = { path: "Path", query: "Query", header: "Headers" } as const;

/**
 * The API's reference as one page: rendered here, without scripts, so that it works offline and nothing foreign runs beside
 * a person's tokens.
 */
export function referencePage(document: Document): Markup {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item?.[method] ? [{ path, method, operation: item[method] }] : [])),
  );
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? "other");
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${document.info.title} API</title>
        <style>
          ${raw(STYLE)}
        </style>
      </head>
      <body>
        <header>
          <h1>${document.info.title} API</h1>
          <p>${document.info.description ?? ""}</p>
          <p>
            Every path below stands at the root (the run <code>default</code>), below <code>/runs/{run}</code> and below
            <code>/runs/{run}/as/{label}</code>. A token goes as <code>Authorization: Bearer</code>, or as the password of
            the server's URL. A refusal is <code>{"detail": …}</code>, a text or, for a 422, the list of what is wrong.
            Machine-readable: <a href="/openapi.json">/openapi.json</a>.
          </p>
        </header>
        ${[...byTag].map(
          ([tag, entries]) =>
            html`<section>
              <h2>${tag}</h2>
              ${entries.map(({ path, method, operation }) => operationBlock(path, method, operation))}
            </section>`,
        )}
      </body>
    </html>`;
}

function operationBlock(path: string, method: string, operation: Operation): Markup {
  const action: unknown = Reflect.get(operation, "x-action");
  const body: unknown = Reflect.get(operation, "requestBody");
  const answers: [string, unknown][] = Object.entries(operation.responses ?? {});
  const refusals = answers.filter(([status]) => status !== SUCCESS);
  return html`<details>
    <summary>
      <b class="${method}">${method.toUpperCase()}</b> <code>${path}</code> <span>${operation.summary ?? ""}</span>
    </summary>
    ${operation.description ? html`<p>${code(operation.description)}</p>` : ""}
    <p class="access">${typeof action === "string" ? `Needs a token that may ${action}.` : "Open to everyone."}</p>
    ${Object.entries(PLACES).map(([place, title]) => parametersOf(operation, place, title))}
    ${body === undefined ? "" : html`<h3>Body${isOptional(body) ? ", may be missing" : ""}</h3>${json(schemaOf(body))}`}
    ${answers.filter(([status]) => status === SUCCESS).map(([status, answer]) => html`<h3>${status}</h3>${json(schemaOf(answer))}`)}
    ${refusals.length === 0 ? "" : html`<h3>Refusals</h3>`}
    <ul>
      ${refusals.map(([status, answer]) => html`<li><b>${status}</b> ${code(descriptionOf(answer))}</li>`)}
    </ul>
  </details>`;
}

function parametersOf(operation: Operation, place: string, title: string): Markup | "" {
  const there = operation.parameters?.filter((parameter) => "in" in parameter && parameter.in === place) ?? [];
  return there.length === 0 ? "" : html`<h3>${title}</h3>${json(there)}`;
}

function isOptional(body: unknown): boolean {
  return typeof body === "object" && body !== null && Reflect.get(body, "required") === false;
}

function descriptionOf(response: unknown): string {
  return typeof response === "object" && response !== null && "description" in response
    ? String(response.description)
    : "";
}

/** The schema of a body or response that has one media type, which is all this API uses. */
function schemaOf(described: unknown): unknown {
  if (typeof described !== "object" || described === null || !("content" in described)) return described;
  const { content } = described;
  if (typeof content !== "object" || content === null) return described;
  const [media] = Object.values(content);
  return typeof media === "object" && media !== null && "schema" in media ? media.schema : media;
}

function json(value: unknown): Markup {
  return html`<pre>${JSON.stringify(value, null, 2)}</pre>`;
}

/** Backticks of Markdown, the only mark-up the descriptions use. */
function code(markdown: string): (string | Markup)[] {
  return markdown.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
}

const STYLE = `
  :root { color-scheme: light dark; --line: light-dark(#d8dde3, #30363d); --soft: light-dark(#f5f7f9, #161b22); }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; }
  h2 { margin-top: 2.5rem; text-transform: capitalize; } h3 { margin: 1rem 0 .25rem; font-size: .9rem; }
  details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .5rem .75rem; }
  summary { cursor: pointer; } summary span { opacity: .75; margin-left: .5rem; }
  b { display: inline-block; width: 3.2rem; font-size: .8rem; } b.get { color: light-dark(#0969da, #58a6ff); } b.post { color: light-dark(#1a7f37, #3fb950); } b.put { color: light-dark(#9a6700, #d29922); }
  ul { padding: 0; margin: 0; list-style: none; font-size: .9rem; }
  pre { background: var(--soft); padding: .75rem; overflow: auto; border-radius: 6px; font-size: .85rem; max-height: 24rem; }
  .access { opacity: .75; }
`;
