import { describe, expect, it } from 'vitest';
import {
  fieldsOfLines,
  isSecretName,
  recordedField,
  recordedQuery,
  withoutCredentials,
  withoutRepeated,
} from './redact.ts';

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
  ])('%s may contain a credential', (name) => expect(isSecretName(name)).toBe(true));

  it.each([
    'Accept',
    'WWW-Authenticate',
    'Access-Control-Allow-Credentials',
    'X-Headgate-Key-Id',
    'X-Request-Id',
    'traceparent',
  ])('%s contains no credential', (name) => expect(isSecretName(name)).toBe(false));
});

it('reads header lines, including values with colons, and masks secrets', () => {
  expect(fieldsOfLines('Host: a:80\r\nCookie: s=1\r\n\r\n')).toEqual([
    { name: 'Host', value: 'a:80' },
    { name: 'Cookie', value: '********' },
  ]);
});

describe('recordedField', () => {
  it.each([
    'Authorization',
    'Ocp-Apim-Subscription-Key',
    'X-Access-Key',
    'X-Otp',
    'X-Pin',
    'X-Tenant',
    'Referer',
    'Cookie',
    'Sec-WebSocket-Protocol',
    'Forwarded',
    'whatever',
  ])('hides the value of %s', (name) =>
    expect(recordedField({ name, value: 'v' })).toEqual({ name, value: '********' }),
  );

  it.each(['Accept', 'CONTENT-TYPE', 'Content-Length', 'Host', 'User-Agent', 'Origin'])(
    'shows the value of %s',
    (name) => expect(recordedField({ name, value: 'v' })).toEqual({ name, value: 'v' }),
  );
});

describe('recordedQuery', () => {
  it.each([
    ['', ''],
    ['?', ''],
    ['?a=1', '?a=********'],
    ['?api_key=k&page=2', '?api_key=********&page=********'],
    ['?a=1;b=2', '?a=********&b=********'],
    ['?filter[x]=1&b=c=d', '?filter[x]=********&b=********'],
    ['?bare-token', '?********'],
    ['?dG9rZW4=', '?********'],
    ['?dG9rZQ==', '?********'],
    ['?dG9rZQ=%3D', '?********'],
    ['?a===b', '?a=********'],
    [`?${'x'.repeat(41)}=1`, '?********'],
    ['?a b=1&=v&&', '?********&********&********&********'],
    [`?${'a=1&'.repeat(45)}`, `?${Array.from({ length: 40 }, () => 'a=********').join('&')}&...`],
  ])('%s is shown as %s', (query, shown) => expect(recordedQuery(query)).toBe(shown));
});

describe('withoutRepeated', () => {
  it('masks values that repeat a secret under another name; a short one only where it is the whole value', () => {
    const fields = [
      { name: 'X-Copy', value: 'of secret-value, twice' },
      { name: 'X-Short', value: 'ab' },
      { name: 'X-Other', value: 'table' },
    ];
    expect(withoutRepeated(fields, ['secret-value', 'ab']).map(({ value }) => value)).toEqual([
      '********',
      '********',
      'table',
    ]);
  });
});

it('masks credentials in texts at any depth, and leaves everything else', () => {
  const key = `hgk_${'a'.repeat(49)}`;
  const shown = withoutCredentials({ path: `/x/${key}`, list: [{ at: `\n${key}`, count: 1 }], none: null });
  expect(shown).toEqual({ path: '/x/***', list: [{ at: '\n***', count: 1 }], none: null });
});
