import { request as httpRequest } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";

export interface Exchange {
  readonly method: string;
  readonly url: string | URL;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly gzip?: boolean;
  /** Called when the headers have arrived, whatever becomes of the body. */
  readonly onHeaders?: (headers: Answer["headers"]) => void;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Decoded. */
  readonly text: string;
}

/** Sends one request as given, a GET with a body too, which fetch would refuse. */
export function send({ method, url, body, headers = {}, gzip = false, onHeaders }: Exchange): Promise<Answer> {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const payload = bytes !== undefined && gzip ? gzipSync(bytes) : bytes;
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      {
        method,
        headers: {
          ...(payload === undefined ? {} : { "content-type": "application/json", "content-length": payload.length }),
          ...(gzip ? { "content-encoding": "gzip" } : {}),
          ...headers,
        },
      },
      (response) => {
        onHeaders?.(response.headers);
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const raw = Buffer.concat(chunks);
          const isGzip = response.headers["content-encoding"] === "gzip";
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: (isGzip ? gunzipSync(raw) : raw).toString("utf8"),
          });
        });
      },
    );
    request.on("error", reject);
    request.end(payload);
  });
}
