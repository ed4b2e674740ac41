import { describe, expect, it } from 'vitest';
import { fieldsOfLines, isSecretName } from './explain-redact.ts';

describe('isSecretName', () => {
  it.each([
    'Authorization',
    'proxy-authorization',
    'Cookie',
    'Set-Cookie',
    'X-Api-Key',
    'x_apikey',
    'X-Auth-Token',
    'X-Amz-Security-Token',
    'X-Hub-Signature-256',
    'X-Headgate-Debug',
    'X-Session-Id',
    'X-Client-Secret',
  ])('%s may hold a credential', (name) => expect(isSecretName(name)).toBe(true));

  it.each([
    'Accept',
    'WWW-Authenticate',
    'Access-Control-Allow-Credentials',
    'X-Headgate-Key-Id',
    'X-Request-Id',
    'traceparent',
  ])('%s holds none', (name) => expect(isSecretName(name)).toBe(false));
});

it('reads header lines, values with colons whole and secrets masked', () => {
  expect(fieldsOfLines('Host: a:80\r\nCookie: s=1\r\n\r\n')).toEqual([
    { name: 'Host', value: 'a:80' },
    { name: 'Cookie', value: '********' },
  ]);
});
