/**
 * The upstream side of a revision: where its backend is and with which revisions it may share connections. Does not
 * resolve names and opens nothing.
 */
import { createHash } from 'node:crypto';
import type { BackendTls, Revision, Target } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { parseBasePath } from './path-patterns.ts';
import { sharedText } from './shared-text.ts';
import type { CompiledBackend } from './types.ts';

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** Where one target of the revision is; without one, its first. Throws CompileError for a bad base path. */
export function compileBackend(
  revision: Revision,
  target: Pick<Target, 'host' | 'port'> = { host: revision.backend_host, port: revision.backend_port },
): CompiledBackend {
  const { backend_scheme: scheme, backend_base_path: basePath, load_balancing: balancing } = revision;
  const { port } = target;
  const parsed = parseBasePath(basePath);
  if ('error' in parsed) {
    const message = `Cannot parse backend_base_path "${basePath}": ${parsed.error}`;
    throw new CompileError(message, revision.id, 'backend_base_path');
  }
  const host = withoutBrackets(target.host);
  const uriHost = uriHostOf(host);
  return {
    scheme: sharedText(scheme),
    host: sharedText(host),
    port,
    authority: sharedText(port === DEFAULT_PORTS[scheme] ? uriHost : `${uriHost}:${port}`),
    basePath: sharedText(parsed.path),
    tls: tlsOf(revision),
    poolKey: sharedText(poolKeyOf(revision, target)),
    connectionsMax: balancing?.max_connections,
    waitingMax: balancing?.max_waiting,
  };
}

/** What a target is known by: where it is, and all that its connections depend on. */
export function poolKeyOf(revision: Revision, { host, port }: Pick<Target, 'host' | 'port'>): string {
  const name = uriHostOf(withoutBrackets(host)).toLowerCase();
  return `${revision.backend_scheme}://${name}:${port}${tlsKey(tlsOf(revision))}`;
}

function tlsOf({ backend_scheme: scheme, backend_tls: tls }: Revision): BackendTls | undefined {
  return scheme === 'https' ? (tls ?? undefined) : undefined;
}

function uriHostOf(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** IPv6 addresses may be written with brackets; sockets take them without, URIs with (RFC 3986 section 3.2.2). */
function withoutBrackets(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** A connection made under other TLS rules must not be reused: the gateway may not have verified it. */
function tlsKey(tls: BackendTls | undefined): string {
  if (tls === undefined) return '';
  const rules = JSON.stringify([tls.verify ?? true, tls.server_name ?? null, tls.ca ?? null]);
  return `#${createHash('sha256').update(rules).digest('base64url')}`;
}
