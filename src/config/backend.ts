/**
 * The upstream side of a revision: where its backend is and with which revisions it may share connections. Does not
 * resolve names and opens nothing.
 */
import { createHash } from 'node:crypto';
import type { BackendTls, Revision } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { parseBasePath } from './path-patterns.ts';
import { sharedText } from './shared-text.ts';
import type { CompiledBackend } from './types.ts';

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

export function compileBackend(revision: Revision): CompiledBackend {
  const { backend_scheme: scheme, backend_port: port, backend_base_path: basePath } = revision;
  const parsed = parseBasePath(basePath);
  if ('error' in parsed) {
    const message = `Cannot parse backend_base_path "${basePath}": ${parsed.error}`;
    throw new CompileError(message, revision.id, 'backend_base_path');
  }
  const host = withoutBrackets(revision.backend_host);
  const uriHost = host.includes(':') ? `[${host}]` : host;
  const tls = scheme === 'https' ? (revision.backend_tls ?? undefined) : undefined;
  return {
    scheme: sharedText(scheme),
    host: sharedText(host),
    port,
    authority: sharedText(port === DEFAULT_PORTS[scheme] ? uriHost : `${uriHost}:${port}`),
    basePath: sharedText(parsed.path),
    tls,
    poolKey: sharedText(`${scheme}://${uriHost.toLowerCase()}:${port}${tlsKey(tls)}`),
  };
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
