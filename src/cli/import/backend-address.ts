/** Addresses of backends, checked with the rules of revisions. */
import { parseBasePath } from '../../config/path-patterns.ts';
import { parseHost } from '../../management/write/rules/backend.ts';
import type { Item } from './imported-route.ts';

export interface BackendAddress {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  /** Begins with a slash. */
  readonly path: string;
}

/** Why no revision can have this address, as a sentence without its subject; undefined when one can. */
export function addressProblem({ host, port, path }: BackendAddress): string | undefined {
  const parsed = parseHost(host);
  if ('error' in parsed) return `has the host "${host}", which ${parsed.error}`;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return `has no port from 1 to 65535 (${port})`;
  const base = parseBasePath(path);
  return 'error' in base ? `has the path "${path}", which ${base.error}` : undefined;
}

/** @returns the address of an http or https URL, or undefined for any other text */
export function addressOfUrl(url: string): BackendAddress | undefined {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) return undefined;
  const scheme = parsed.protocol === 'https:' ? 'https' : 'http';
  return {
    scheme,
    host: parsed.hostname.replaceAll(/^\[|\]$/g, ''),
    port: parsed.port === '' ? (scheme === 'https' ? 443 : 80) : Number(parsed.port),
    path: parsed.pathname,
  };
}

/** The fields of a revision, without defaults. */
export function backendFields({ scheme, host, port, path }: BackendAddress): Item {
  const base = path.replace(/\/+$/, '');
  return {
    ...(scheme === 'http' && { backend_scheme: scheme }),
    ...(base !== '' && { backend_base_path: base }),
    backend_host: host,
    ...(port !== 443 && { backend_port: port }),
  };
}
