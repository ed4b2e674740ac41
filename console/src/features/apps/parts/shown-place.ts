/** The place of a backend as people read it, and type it. Pure. */

/**
 * `host:port`, with an IPv6 address in brackets, or a Unix socket, which has no port.
 * @param port undefined: it is not shown
 */
export function shownPlace(host: string, port: number | undefined): string {
  if (host.startsWith('unix:')) return host;
  return `${host.includes(':') ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}`;
}
