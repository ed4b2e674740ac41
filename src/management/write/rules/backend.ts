/** Rules of a revision's backend: its host, and the certificates with which it is verified. Pure. */
import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { socketPathError, socketPathOf } from '../../../egress/unix-sockets.ts';

const HOST_LENGTH_MAX = 253;
/** RFC 1123 labels; underscores too, since service names in container networks have them. */
const HOST_LABEL = /^[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/;
const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Reads a host: a name, an IPv4 address, or an IPv6 address with or without brackets. `host` is without brackets.
 */
export function parseHost(text: string): { readonly host: string } | { readonly error: string } {
  const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : undefined;
  if (inner !== undefined) {
    if (isIP(inner) !== 6 || inner.includes('%'))
      return { error: 'must have an IPv6 address between the brackets' };
    return { host: inner };
  }
  const kind = isIP(text);
  if (kind === 6 && text.includes('%')) return { error: 'must not have a zone' };
  if (kind !== 0) return { host: text };
  const labels = text.split('.');
  if (text.length > HOST_LENGTH_MAX || !labels.every((label) => HOST_LABEL.test(label))) {
    return { error: 'must be a host name or an IP address, without scheme, port and path' };
  }
  // RFC 3986 section 3.2.2 and the URL standard: a last label of digits makes it an IPv4 address.
  if (/^(?:[0-9]+|0[xX][0-9A-Fa-f]*)$/.test(labels.at(-1) ?? ''))
    return { error: 'is not a valid IPv4 address' };
  return { host: text };
}

/** Reads where a backend is: a host, or `unix:` and the path of a Unix socket. */
export function parseBackendHost(text: string): { readonly host: string } | { readonly error: string } {
  const path = socketPathOf(text);
  if (path === undefined) return parseHost(text);
  const error = socketPathError(path);
  return error === undefined ? { host: text } : { error };
}

/** Name for SNI: no addresses (RFC 6066 section 3). */
export function serverNameError(text: string): string | undefined {
  const parsed = parseHost(text);
  return 'error' in parsed || isIP(parsed.host) !== 0 ? 'must be a host name' : undefined;
}

/** Checks that a text is one or more PEM certificates (RFC 7468) and nothing else. */
export function certificatesError(pem: string): string | undefined {
  const blocks = pem.match(PEM_BLOCK) ?? [];
  if (blocks.length === 0) return 'must contain at least one PEM certificate ("-----BEGIN CERTIFICATE-----")';
  if (/-----BEGIN (?!CERTIFICATE-----)/.test(pem)) return 'must contain only certificates, no keys';
  for (const [index, block] of blocks.entries()) {
    try {
      void new X509Certificate(block);
    } catch {
      return `contains a certificate that cannot be read (number ${index + 1})`;
    }
  }
  return undefined;
}
