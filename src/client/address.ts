/** A server's address that can't be used. Its message never quotes the address or the token: either may hold a secret. */
export class AddressError extends Error {}

export interface Address {
  /** Without user, password and slashes at its end: fit to be shown. */
  readonly url: string;
  readonly token: string | undefined;
}

/**
 * Tells the token from the address, which may hold it as its password: `https://x:TOKEN@host/runs/RUN`. fetch refuses such
 * an address and quotes it. A token that is given beside it wins.
 * @throws AddressError for what is no http(s) address, has a query or a fragment, or goes with a token that no header can hold.
 */
export function readAddress(address: string | URL, given?: string): Address {
  const url = URL.parse(String(address));
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new AddressError(
      "the server's address is no http or https address: give https://HOST or https://HOST/runs/RUN",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw new AddressError("the server's address has a query or a fragment: give it without what follows ? or #");
  }
  const token = (given ?? "").trim() || passwordOf(url);
  if (token === "" && url.username !== "") {
    throw new AddressError(
      "the server's address has a user and no password: the token is the password, https://x:TOKEN@HOST",
    );
  }
  // Headers quote a value that they refuse.
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new AddressError(
      "the token has spaces or characters beyond ASCII: give it as `npx lachesis token` printed it",
    );
  }
  return { url: `${url.origin}${url.pathname}`.replace(/\/+$/, ""), token: token === "" ? undefined : token };
}

function passwordOf({ password }: URL): string {
  try {
    return decodeURIComponent(password);
  } catch {
    throw new AddressError(
      "the password in the server's address has a % that begins no percent-encoding: write it as %25",
    );
  }
}
