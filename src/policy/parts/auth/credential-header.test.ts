import { describe, expect, it } from 'vitest';
import { HeaderKind, headerKindOf } from '../../../http/heads/header-kind.ts';
import { mayCarryCredential } from './credential-header.ts';

/** Fields that the gateway knows by name, at least one of each family. */
const MANAGED = [
  'Keep-Alive',
  'Proxy-Connection',
  'Proxy-Authenticate',
  'Proxy-Authorization',
  'Proxy-Authentication-Info',
  'TE',
  'HTTP2-Settings',
  'Connection',
  'Upgrade',
  'Transfer-Encoding',
  'Content-Length',
  'Trailer',
  'Host',
  'Expect',
  'Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'X-Forwarded-Host',
  'X-Forwarded-Anything',
  'X-Real-IP',
  'X-Client-IP',
  'True-Client-IP',
  'X-Cluster-Client-IP',
  'CF-Connecting-IP',
  'Fastly-Client-IP',
  'X-Request-Id',
  'Via',
  'traceparent',
  'tracestate',
  'Origin',
  'Access-Control-Request-Method',
  'Access-Control-Request-Headers',
  'Access-Control-Anything',
  'X-Headgate-Key-Id',
  'Deprecation',
  'Sunset',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'Date',
  'Server',
  'X-Original-URL',
  'X-Original-URI',
  'X-Rewrite-URL',
  'X-Override-URL',
  'X-Original-Method',
  'X-HTTP-Method',
  'X-HTTP-Method-Override',
  'X-Method-Override',
];

describe('the place of a credential', () => {
  it.each([
    'Authorization',
    'authorization',
    'X-API-Key',
    'x-api-key',
    'apikey',
    'X_Token',
    'Ocp-Apim-Subscription-Key',
  ])('may be %s', (name) => {
    expect(mayCarryCredential(name)).toBe(true);
  });

  it.each(MANAGED)('cannot be %s or a name that a server may read as it', (name) => {
    expect(headerKindOf(name)).not.toBe(HeaderKind.ordinary);
    expect(mayCarryCredential(name)).toBe(false);
    expect(mayCarryCredential(name.toUpperCase())).toBe(false);
    if (name.includes('-')) expect(mayCarryCredential(name.replaceAll('-', '_'))).toBe(false);
  });

  it.each([
    'Cookie',
    'Content-Type',
    'Accept',
    'Accept-Language',
    'User-Agent',
    'Range',
    'If-None-Match',
    'Cache-Control',
    'Referer',
    'Max-Forwards',
    'Sec-WebSocket-Key',
    'Priority',
    'Pragma',
    'Upgrade-Insecure-Requests',
  ])('cannot be %s', (name) => {
    expect(mayCarryCredential(name)).toBe(false);
  });
});
