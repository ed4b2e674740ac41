/**
 * Classifies field names once, while a head is scanned, so that later code compares small integers. Names are matched
 * without case through a hash that the scanner computes while it walks over the bytes. Other names need no allocation.
 *
 * An *alias* is a name that a CGI-like backend would fold into one of the managed names: RFC 3875 section 4.1.18 maps
 * "-" to "_", and some servers map every odd character, so `X_Forwarded_For` becomes HTTP_X_FORWARDED_FOR.
 */
import { foldedName } from '../../lib/folded-name.ts';
import { ODD_BIT, TOKEN } from '../characters.ts';
import { latin1Text } from '../latin1.ts';

/** Fewer than 32 kinds, because heads keep the set of their kinds in one 32-bit integer. */
export const HeaderKind = Object.freeze({
  /** Forwarded unchanged, unless `Connection` nominates it. */
  ordinary: 0,
  /** For this connection only (RFC 9110 section 7.6.1) and without its own kind: never forwarded. */
  hopByHop: 1,
  connection: 2,
  upgrade: 3,
  transferEncoding: 4,
  contentLength: 5,
  trailer: 6,
  host: 7,
  expect: 8,
  authorization: 9,
  forwarded: 10,
  forwardedFor: 11,
  forwardedProto: 12,
  forwardedHost: 13,
  /** Any other `X-Forwarded-` name, such as -Port, -Prefix, -Server. */
  forwardedOther: 14,
  /** `X-Real-IP`, and the fields in which proxies, CDNs and clouds name the client address. */
  realIp: 15,
  requestId: 16,
  via: 17,
  traceparent: 18,
  tracestate: 19,
  origin: 20,
  accessControlRequestMethod: 21,
  accessControlRequestHeaders: 22,
  /** Every other `Access-Control-` name: the CORS fields of responses. */
  accessControl: 23,
  /** Any name that begins with `X-Headgate-`, and the fields with a client certificate: of clients none passes. */
  headgate: 24,
  /** A spelling, with `_` or another odd character, that a backend may fold into a name of another kind. */
  underscoreAlias: 25,
  deprecation: 26,
  sunset: 27,
  /** `RateLimit`, `RateLimit-Policy` and every `X-RateLimit-` name. */
  rateLimit: 28,
  date: 29,
  server: 30,
  /**
   * Names with which some frameworks replace the matched path or method, such as `X-Original-URL`, or the servers that
   * they call.
   */
  targetOverride: 31,
} as const);

export type HeaderKind = (typeof HeaderKind)[keyof typeof HeaderKind];

const names: ReadonlyArray<readonly [name: string, kind: HeaderKind]> = [
  ['keep-alive', HeaderKind.hopByHop],
  ['proxy-connection', HeaderKind.hopByHop],
  ['proxy-authenticate', HeaderKind.hopByHop],
  ['proxy-authorization', HeaderKind.hopByHop],
  ['proxy-authentication-info', HeaderKind.hopByHop],
  ['te', HeaderKind.hopByHop],
  ['http2-settings', HeaderKind.hopByHop],
  ['connection', HeaderKind.connection],
  ['upgrade', HeaderKind.upgrade],
  ['transfer-encoding', HeaderKind.transferEncoding],
  ['content-length', HeaderKind.contentLength],
  ['trailer', HeaderKind.trailer],
  ['host', HeaderKind.host],
  ['expect', HeaderKind.expect],
  ['authorization', HeaderKind.authorization],
  ['forwarded', HeaderKind.forwarded],
  ['x-forwarded-for', HeaderKind.forwardedFor],
  ['x-forwarded-proto', HeaderKind.forwardedProto],
  ['x-forwarded-host', HeaderKind.forwardedHost],
  ['x-real-ip', HeaderKind.realIp],
  ['x-client-ip', HeaderKind.realIp],
  // PHP applications prefer it (HTTP_CLIENT_IP) to X-Forwarded-For.
  ['client-ip', HeaderKind.realIp],
  ['proxy-client-ip', HeaderKind.realIp],
  ['wl-proxy-client-ip', HeaderKind.realIp],
  ['x-originating-ip', HeaderKind.realIp],
  ['x-remote-addr', HeaderKind.realIp],
  ['x-remote-ip', HeaderKind.realIp],
  ['true-client-ip', HeaderKind.realIp],
  ['x-cluster-client-ip', HeaderKind.realIp],
  ['cf-connecting-ip', HeaderKind.realIp],
  ['cf-connecting-ipv6', HeaderKind.realIp],
  ['cf-pseudo-ipv4', HeaderKind.realIp],
  ['cloudfront-viewer-address', HeaderKind.realIp],
  ['fastly-client-ip', HeaderKind.realIp],
  ['fly-client-ip', HeaderKind.realIp],
  ['x-appengine-user-ip', HeaderKind.realIp],
  ['x-azure-clientip', HeaderKind.realIp],
  ['x-azure-socketip', HeaderKind.realIp],
  ['x-envoy-external-address', HeaderKind.realIp],
  ['x-original-forwarded-for', HeaderKind.realIp],
  ['client-cert', HeaderKind.headgate],
  ['client-cert-chain', HeaderKind.headgate],
  ['x-forwarded-client-cert', HeaderKind.headgate],
  ['x-request-id', HeaderKind.requestId],
  ['via', HeaderKind.via],
  ['traceparent', HeaderKind.traceparent],
  ['tracestate', HeaderKind.tracestate],
  ['origin', HeaderKind.origin],
  ['access-control-request-method', HeaderKind.accessControlRequestMethod],
  ['access-control-request-headers', HeaderKind.accessControlRequestHeaders],
  ['deprecation', HeaderKind.deprecation],
  ['sunset', HeaderKind.sunset],
  ['ratelimit', HeaderKind.rateLimit],
  ['ratelimit-policy', HeaderKind.rateLimit],
  ['date', HeaderKind.date],
  ['server', HeaderKind.server],
  ['x-original-url', HeaderKind.targetOverride],
  ['x-original-uri', HeaderKind.targetOverride],
  ['x-rewrite-url', HeaderKind.targetOverride],
  ['x-override-url', HeaderKind.targetOverride],
  ['x-original-method', HeaderKind.targetOverride],
  ['x-http-method', HeaderKind.targetOverride],
  ['x-http-method-override', HeaderKind.targetOverride],
  ['x-method-override', HeaderKind.targetOverride],
  // Programs run by CGI read it as HTTP_PROXY, the proxy for their own requests (CVE-2016-5385).
  ['proxy', HeaderKind.targetOverride],
  // Next.js skips its middleware, and with it the checks there, for a request that says that it comes from there
  // (CVE-2025-29927).
  ['x-middleware-subrequest', HeaderKind.targetOverride],
];

const prefixes: ReadonlyArray<readonly [prefix: string, kind: HeaderKind]> = [
  ['x-headgate-', HeaderKind.headgate],
  ['x-forwarded-', HeaderKind.forwardedOther],
  ['x-ratelimit-', HeaderKind.rateLimit],
  ['access-control-', HeaderKind.accessControl],
];

/** Start value of a name's hash; pass each `TOKEN` entry to `hashStep`. */
export const HASH_SEED = 17;

export function hashStep(hash: number, tokenEntry: number): number {
  return (Math.imul(hash, 31) + tokenEntry) | 0;
}

const SLOTS = 256;
const EMPTY = 0;
/** Open-addressed table of the names: hash, length (0 marks a free slot), kind, and start of the name's bytes. */
const slotHashes = new Int32Array(SLOTS);
const slotLengths = new Uint8Array(SLOTS);
const slotKinds = new Uint8Array(SLOTS);
const slotOffsets = new Uint16Array(SLOTS);
const nameBytes = Buffer.from([...names, ...prefixes].map(([name]) => name).join(''), 'latin1');
const families: Array<{ offset: number; prefixLength: number; kind: HeaderKind }> = [];
fillTables();

function fillTables(): void {
  let offset = 0;
  for (const [name, kind] of names) {
    let hash = HASH_SEED;
    for (let i = 0; i < name.length; i++) hash = hashStep(hash, TOKEN[name.charCodeAt(i)] as number);
    let slot = hash & (SLOTS - 1);
    while (slotLengths[slot] !== EMPTY) slot = (slot + 1) & (SLOTS - 1);
    slotHashes[slot] = hash;
    slotLengths[slot] = name.length;
    slotKinds[slot] = kind;
    slotOffsets[slot] = offset;
    offset += name.length;
  }
  for (const [prefix, kind] of prefixes) {
    families.push({ offset, prefixLength: prefix.length, kind });
    offset += prefix.length;
  }
}

/**
 * Kind of the field name `bytes[start, end)`, which must consist of token characters. `hash` is its `hashStep` hash,
 * and `bits` the bitwise OR of its `TOKEN` entries.
 */
export function classifyName(
  bytes: Buffer,
  start: number,
  end: number,
  hash: number,
  bits: number,
): HeaderKind {
  if ((bits & ODD_BIT) !== 0) return classifyOddName(latin1Text(bytes, start, end));
  const length = end - start;
  for (let slot = hash & (SLOTS - 1); slotLengths[slot] !== EMPTY; slot = (slot + 1) & (SLOTS - 1)) {
    // Equal hashes do not prove equal names, and a forged collision would let a client choose its framing.
    if (slotHashes[slot] === hash && slotLengths[slot] === length) {
      if (hasBytes(bytes, start, slotOffsets[slot] as number, length)) return slotKinds[slot] as HeaderKind;
    }
  }
  const first = (bytes[start] as number) | 0x20;
  // Families begin with "x-" or with the 15 characters of "access-control-"; the length check skips Accept and similar.
  if (first === 0x78 || (first === 0x61 && length > 15)) return familyOf(bytes, start, length);
  return HeaderKind.ordinary;
}

/**
 * Whether `bytes` equals, ignoring case, the `length` bytes of `nameBytes` at `offset`. For names without odd
 * characters.
 */
function hasBytes(bytes: Buffer, start: number, offset: number, length: number): boolean {
  for (let i = 0; i < length; i++) {
    // Setting the bit 0x20 lower-cases letters and does not change digits and "-".
    if (((bytes[start + i] as number) | 0x20) !== nameBytes[offset + i]) return false;
  }
  return true;
}

function familyOf(bytes: Buffer, start: number, length: number): HeaderKind {
  for (const { offset, prefixLength, kind } of families) {
    if (length >= prefixLength && hasBytes(bytes, start, offset, prefixLength)) return kind;
  }
  return HeaderKind.ordinary;
}

/** No managed name has an odd character, so an odd name is either ordinary or an alias. */
function classifyOddName(name: string): HeaderKind {
  return headerKindOf(foldedName(name)) === HeaderKind.ordinary
    ? HeaderKind.ordinary
    : HeaderKind.underscoreAlias;
}

/** Kind of a field name, compared without case. A string that is not a token is `ordinary`. */
export function headerKindOf(name: string): HeaderKind {
  let hash = HASH_SEED;
  let bits = 0;
  for (let i = 0; i < name.length; i++) {
    const entry = TOKEN[name.charCodeAt(i)];
    if (!entry) return HeaderKind.ordinary;
    hash = hashStep(hash, entry);
    bits |= entry;
  }
  return classifyName(Buffer.from(name, 'latin1'), 0, name.length, hash, bits);
}
