import { X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { certificatesError, parseHost, serverNameError } from './backend.ts';

describe('parseHost', () => {
  it.each([
    ['backend', 'backend'],
    ['api.example.com', 'api.example.com'],
    ['my_service.internal', 'my_service.internal'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['1password.example', '1password.example'],
  ])('takes %s', (text, host) => {
    expect(parseHost(text)).toEqual({ host });
  });

  it.each([
    '',
    ' ',
    'a b',
    'http://a',
    'a:80',
    'a/b',
    'user@a',
    'bücher.example',
    '-a',
    'a-',
    'a..b',
    '.a',
    'a.',
    '999.1.1.1',
    '1.2.3',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0x7f000001',
    '[::1',
    '[1.2.3.4]',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    'a\r\nb',
    'a\0',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(130)}example`,
  ])('refuses %j', (text) => {
    expect(parseHost(text)).toHaveProperty('error');
  });
});

describe('serverNameError', () => {
  it('wants a name, since SNI has no addresses', () => {
    expect(serverNameError('api.example.com')).toBeUndefined();
    expect(serverNameError('127.0.0.1')).toBe('must be a host name');
    expect(serverNameError('a b')).toBe('must be a host name');
  });
});

describe('certificatesError', () => {
  const [first = '', second = ''] = rootCertificates;

  it('takes one or more certificates', () => {
    expect(new X509Certificate(first).ca).toBe(true);
    expect(certificatesError(first)).toBeUndefined();
    expect(certificatesError(`${first}\n# comment\n${second}\n`)).toBeUndefined();
  });

  it.each([
    ['nothing', 'x', /at least one PEM certificate/],
    ['a damaged one', `${first}\n${second.replace('MII', 'MIX')}`, /number 2/],
    ['a key', `${first}\n-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n`, /no keys/],
  ])('refuses %s', (_what, pem, expected) => {
    expect(certificatesError(pem)).toMatch(expected);
  });
});
