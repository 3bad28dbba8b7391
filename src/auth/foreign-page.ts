import { ApiError } from "../wire/api-error.ts";

/** A browser says of whose page a request is, and no page can make it say otherwise (Fetch Metadata). */
const FOREIGN_SITES = new Set(["cross-site", "same-site"]);

/**
 * Refuses what a browser sends for a page of another origin: any page can make it send requests here, and where the browser
 * is what lets them in, being on this machine or having been given a password once, they are let in too.
 * @throws ApiError 403
 */
export function refuseForeignPages(request: Request): void {
  const site = request.headers.get("sec-fetch-site");
  const origin = request.headers.get("origin");
  if (!FOREIGN_SITES.has(site ?? "") && (origin === null || origin === new URL(request.url).origin)) return;
  throw new ApiError(
    403,
    "a browser sent this for a page of another origin, which could do anything here: open the address itself, or send a token as Authorization: Bearer",
  );
}
