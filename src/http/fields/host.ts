/**
 * Validation of an authority without user information: `host [":" port]` (RFC 9110 section 7.2, RFC 3986 section
 * 3.2.2). Narrower than the RFC grammar, which allows almost anything in a registered name. Here a name consists of
 * letters, digits, "-", "." and "_"; a port has one to five digits and is at most 65535; an IP literal is an IPv6
 * address without zone. Other forms have no legitimate use, and servers read them differently.
 */
import { isIPv6 } from 'node:net';

const NAME_MAX = 255;
const DOT = 0x2e;
const COLON = 0x3a;

/** Whether `authority` is a host with an optional port. The empty string is not. */
export function isHostAndPort(authority: string): boolean {
  if (authority.charCodeAt(0) === 0x5b) return isLiteralAndPort(authority);
  let position = 0;
  while (position < authority.length && isNameCharacter(authority.charCodeAt(position))) position++;
  if (position === 0 || position > NAME_MAX || authority.charCodeAt(0) === DOT) return false;
  if (authority.includes('..')) return false;
  return isPortFrom(authority, position);
}

function isLiteralAndPort(authority: string): boolean {
  const close = authority.indexOf(']');
  const address = authority.slice(1, close < 0 ? 1 : close);
  return isIPv6(address) && !address.includes('%') && isPortFrom(authority, close + 1);
}

function isPortFrom(authority: string, position: number): boolean {
  if (position === authority.length) return true;
  const digits = authority.length - position - 1;
  if (authority.charCodeAt(position) !== COLON || digits < 1 || digits > 5) return false;
  let port = 0;
  for (let i = position + 1; i < authority.length; i++) {
    const digit = authority.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return false;
    port = port * 10 + digit;
  }
  return port <= 65_535;
}

function isNameCharacter(code: number): boolean {
  const lower = code | 0x20;
  return (
    (lower >= 0x61 && lower <= 0x7a) ||
    (code >= 0x30 && code <= 0x39) ||
    code === 0x2d ||
    code === DOT ||
    code === 0x5f
  );
}
