/**
 * The upstream side of a revision: where its backend is and with which revisions it may share connections. Does not
 * resolve names and opens nothing.
 */
import type { BackendProtocol, BackendTls, FoundTarget, Revision } from '../model/resources.ts';
import { placeText, socketPathOf } from '../egress/unix-sockets.ts';
import { CompileError } from './compile-error.ts';
import { parseBasePath } from './path-patterns.ts';
import { sharedText } from './shared-text.ts';
import type { CompiledBackend } from './types.ts';

const DEFAULT_PORTS = { http: 80, https: 443 } as const;
/**
 * The host name of a backend on a Unix socket: its Host field, and the name that its certificate must have unless
 * TLS names another.
 */
const SOCKET_NAME = 'localhost';

/** The place of a target. */
type Place = Pick<FoundTarget, 'host' | 'port' | 'foundAs' | 'service'>;
/** The fields that all targets of a revision share. */
type Common = Pick<
  CompiledBackend,
  'scheme' | 'protocol' | 'basePath' | 'tls' | 'connectionsMax' | 'waitingMax'
>;

/** Whether the revision has a health check of its own. */
export function hasHealthCheck({
  health_check_path: path,
  circuit_breaker: breaker,
}: Pick<Revision, 'health_check_path' | 'circuit_breaker'>): boolean {
  return path !== null || breaker?.probe?.protocol === 'grpc';
}

/** Where one target of the revision is; without one, its first. Throws CompileError for a bad base path. */
export function compileBackend(
  revision: Revision,
  target: Place = { host: revision.backend_host, port: revision.backend_port },
): CompiledBackend {
  const { backend_scheme: scheme, backend_base_path: basePath, load_balancing: balancing } = revision;
  const parsed = parseBasePath(basePath);
  if ('error' in parsed) {
    const message = `Cannot parse backend_base_path "${basePath}": ${parsed.error}`;
    throw new CompileError(message, revision.id, 'backend_base_path');
  }
  const common = {
    scheme: sharedText(scheme),
    protocol: sharedText(protocolOf(revision)),
    basePath: sharedText(parsed.path),
    tls: tlsOf(revision),
    connectionsMax: balancing?.max_connections,
    waitingMax: balancing?.max_waiting,
  };
  const backend = backendAt(common, target);
  if (revision.discovery?.type !== 'file' || revision.targets) return backend;
  // This backend stands for all targets in the file: they share its retry budget.
  return { ...backend, poolKey: sharedText(`${scheme}+file://${revision.discovery.path}`) };
}

/** The backend at another place, with the fields that all targets of its revision share. */
export function backendAt(common: Common, target: Place): CompiledBackend {
  const { scheme, protocol, basePath, connectionsMax, waitingMax } = common;
  const { port, foundAs } = target;
  const host = withoutBrackets(target.host);
  const authority = sharedText(authorityOf(scheme, host, port));
  return {
    scheme,
    protocol,
    host: sharedText(host),
    port,
    authority,
    hostField: hostFieldOf(authority, target, scheme),
    foundAs: foundAs === undefined ? undefined : sharedText(foundAs),
    basePath,
    tls: tlsAt(common, target),
    poolKey: sharedText(keyAt(common, target)),
    connectionsMax,
    waitingMax,
  };
}

function hostFieldOf(
  authority: string,
  { host, port, service }: Place,
  scheme: CompiledBackend['scheme'],
): string {
  if (socketPathOf(host) !== undefined) return SOCKET_NAME;
  return service === undefined ? authority : sharedText(authorityOf(scheme, service, port));
}

function authorityOf(scheme: CompiledBackend['scheme'], host: string, port: number): string {
  if (socketPathOf(host) !== undefined) return host;
  const uriHost = uriHostOf(host);
  return port === DEFAULT_PORTS[scheme] ? uriHost : `${uriHost}:${port}`;
}

/** Identifies a target: its place, and everything that its connections depend on. */
export function poolKeyOf(revision: Revision, target: Place): string {
  const protocol = protocolOf(revision);
  return keyAt({ scheme: revision.backend_scheme, protocol, tls: tlsOf(revision) }, target);
}

function keyAt(common: Pick<Common, 'scheme' | 'protocol' | 'tls'>, target: Place): string {
  const place = socketPathOf(target.host) === undefined ? lowerCasePlace(target) : target.host;
  const as = target.foundAs === undefined ? '' : `?${target.foundAs}`;
  const version = common.protocol === 'http1' ? '' : `+${common.protocol}`;
  return `${common.scheme}${version}://${place}${as}${tlsKey(tlsAt(common, target))}`;
}

function lowerCasePlace({ host, port }: Place): string {
  return placeText(uriHostOf(withoutBrackets(host)).toLowerCase(), port);
}

/** A target as people see it: `host:port`, with an IPv6 address in brackets, or its socket. */
export function shownPlace(host: string, port: number): string {
  return socketPathOf(host) === undefined ? placeText(uriHostOf(withoutBrackets(host)), port) : host;
}

/** The certificate must have the name of the service, not of the address at which it was found. */
function tlsAt(
  { scheme, tls }: Pick<Common, 'scheme' | 'tls'>,
  { host, service }: Place,
): BackendTls | undefined {
  const name = service ?? (socketPathOf(host) === undefined ? undefined : SOCKET_NAME);
  if (scheme !== 'https' || name === undefined || tls?.server_name !== undefined) return tls;
  return { ...tls, server_name: name };
}

/** Records in a snapshot file of an earlier release do not have this field. */
function protocolOf({ backend_protocol: protocol }: Partial<Revision>): BackendProtocol {
  return protocol ?? 'http1';
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
  const { verify = true, server_name = null, ca = null, client_certificate = null, pins = null } = tls;
  const rules = JSON.stringify([verify, server_name, ca, client_certificate, pins]);
  // Asked for here: commands load this module, and to them cryptography is a quarter of their time.
  return `#${process.getBuiltinModule('node:crypto').hash('sha256', rules, 'base64url')}`;
}
