/**
 * Web origins in CORS lists (RFC 6454 section 6.1, the Fetch standard's `Origin` header) and their normal form:
 * scheme and host in lower case, without the scheme's default port. Also the wildcard form `https://*.example.com`,
 * which stands for every name below `example.com` with this scheme and port.
 */

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443', ws: '80', wss: '443' };

export interface ParsedOrigin {
  /** Normal form; for a wildcard without the `*`: `https://.example.com:8443`. */
  readonly text: string;
  readonly wildcard: boolean;
  /** For a wildcard: `https://` and `.example.com:8443`. */
  readonly schemePart: string;
  readonly hostPart: string;
}

/**
 * Parses one origin. No path, query, user information or trailing slash: an origin with any of these never
 * equals what a browser sends, so that accepting it would configure something that cannot match.
 * @returns undefined when the text is not an origin
 */
export function parseOrigin(origin: string, allowWildcard: boolean): ParsedOrigin | undefined {
  const separator = origin.indexOf('://');
  if (separator <= 0 || origin.length > 2048) return undefined;
  const scheme = origin.slice(0, separator).toLowerCase();
  if (!/^[a-z][a-z0-9+.-]*$/.test(scheme)) return undefined;
  let authority = origin.slice(separator + 3).toLowerCase();
  const wildcard = allowWildcard && authority.startsWith('*.');
  if (wildcard) authority = authority.slice(1);

  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?$/.exec(authority);
  if (match === null) return undefined;
  const [, host = '', port] = match;
  if (!isHost(wildcard ? host.slice(1) : host)) return undefined;
  // There are no names below an address.
  if (wildcard && /\.[0-9]+$/.test(host)) return undefined;
  if (port !== undefined && (Number(port) > 65_535 || Number(port) === 0)) return undefined;
  const keepPort = port !== undefined && String(Number(port)) !== DEFAULT_PORTS[scheme];
  const schemePart = `${scheme}://`;
  const hostPart = keepPort ? `${host}:${Number(port)}` : host;
  return { text: schemePart + hostPart, wildcard, schemePart, hostPart };
}

/** A host name without empty labels, or an IPv6 address in brackets (whose syntax is left to the browser). */
function isHost(host: string): boolean {
  if (host === '' || host.length > 253) return false;
  return host.startsWith('[') || host.split('.').every((label) => label !== '' && label.length <= 63);
}
