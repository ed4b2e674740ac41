/**
 * The formats of GATEWAY_REDIS_URL: one server, a cluster, or a primary behind Sentinels. IANA registers the first
 * (`redis`, `rediss`). The other two have no standard; they add the kind after a plus sign and a list of hosts.
 *
 *   redis[s]://[[user][:password]@]host[:port][/database]
 *   redis[s]+cluster://[[user][:password]@]host[:port][,host[:port]…]
 *   redis[s]+sentinel://[[user][:password]@]host[:port][,host[:port]…]/name
 */

interface HostAndPort {
  /** IPv6 addresses have no brackets. */
  readonly host: string;
  readonly port: number;
}

export interface RedisTarget {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  /** At least one. */
  readonly hosts: readonly HostAndPort[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Number of the database; 0 except for a single server. */
  readonly database: number;
  /** The Sentinels' name of the primary; '' for the other kinds. */
  readonly primaryName: string;
}

const SERVER_PORT = 6379;
const SENTINEL_PORT = 26379;
const FORM = /^redis(s?)(?:\+(cluster|sentinel))?:\/\/(?:([^@/]*)@)?([^/@?#]+)(?:\/([^/?#]*))?$/i;
const HOST = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

/** @returns undefined when the text has none of the formats */
export function parseRedisUrl(text: string): RedisTarget | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [, secure = '', kindText, credentials, hostList = '', path = ''] = match;
  const kind = (kindText?.toLowerCase() ?? 'single') as RedisTarget['kind'];
  const hosts = hostList.split(',').map((host) => parseHost(host, kind));
  const known = hosts.filter((host) => host !== undefined);
  const login = parseCredentials(credentials);
  const isPathRight =
    kind === 'single' ? /^\d{0,5}$/.test(path) : kind === 'cluster' ? path === '' : path !== '';
  if (known.length < hosts.length || login === undefined || !isPathRight) return undefined;
  if (kind === 'single' && hosts.length > 1) return undefined;
  return Object.freeze({
    kind,
    hosts: known,
    tls: secure !== '',
    ...login,
    database: kind === 'single' ? Number(path) : 0,
    primaryName: kind === 'sentinel' ? path : '',
  });
}

/** The URL without user and password, with all ports. */
export function redisAddress({ kind, hosts, tls, database, primaryName }: RedisTarget): string {
  const scheme = `redis${tls ? 's' : ''}${kind === 'single' ? '' : `+${kind}`}`;
  const named = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
  const path = kind === 'sentinel' ? `/${primaryName}` : database === 0 ? '' : `/${database}`;
  return `${scheme}://${named.join(',')}${path}`;
}

function parseHost(text: string, kind: RedisTarget['kind']): HostAndPort | undefined {
  const match = HOST.exec(text);
  const port = Number(match?.[3] ?? (kind === 'sentinel' ? SENTINEL_PORT : SERVER_PORT));
  if (match === null || port < 1 || port > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? '', port };
}

function parseCredentials(
  text: string | undefined,
): { readonly username: string | undefined; readonly password: string | undefined } | undefined {
  if (text === undefined || text === '') return { username: undefined, password: undefined };
  const colon = text.indexOf(':');
  try {
    const username = decodeURIComponent(colon < 0 ? text : text.slice(0, colon));
    const password = colon < 0 ? undefined : decodeURIComponent(text.slice(colon + 1));
    return { username: username === '' ? undefined : username, password };
  } catch {
    return undefined;
  }
}
