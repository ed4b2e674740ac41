/** Selection of certificates by name; a set of certificates is replaced as a whole or not at all. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SecureContext } from 'node:tls';
import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { certificateFacts, type CertificatePair } from './tls-certificate.ts';
import { contextOptions, TlsContexts } from './tls-contexts.ts';

const pem = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../../test/support/tls', name), 'utf8');
const pairOf = (name: string): CertificatePair => ({ cert: pem(`${name}.pem`), key: pem(`${name}-key.pem`) });
const backend = pairOf('backend');
const site = pairOf('site');
const wildcard = pairOf('wildcard');

const locked = createPrivateKey(site.key)
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'of the key' })
  .toString();

describe('certificateFacts', () => {
  it('reads names and expiry', () => {
    const facts = certificateFacts(wildcard);
    expect(facts).toMatchObject({ names: ['*.wild.test', '192.0.2.1'] });
    expect('expiresAtMs' in facts && facts.expiresAtMs).toBeGreaterThan(Date.UTC(2100, 0));
  });

  it.each<[string, CertificatePair, RegExp]>([
    ['a key of another certificate', { cert: site.cert, key: backend.key }, /does not belong/],
    ['no certificate', { cert: 'nothing', key: site.key }, /^the certificate cannot be read; expected PEM/],
    ['half a certificate', { cert: site.cert.slice(0, 200), key: site.key }, /^the certificate cannot/],
    ['no key', { cert: site.cert, key: '' }, /^the key cannot be read; expected a private key in PEM$/],
    ['both, the other way round', { cert: site.key, key: site.cert }, /^the certificate cannot be read/],
    [
      'a chain that ends half-way',
      { cert: site.cert + backend.cert.slice(0, 200), key: site.key },
      /^they cannot be used for TLS \(bad end line\); expected PEM with each certificate of the chain/,
    ],
    [
      'a key with a passphrase',
      { cert: site.cert, key: locked },
      /^the key has a passphrase; expected a key/,
    ],
  ])('refuses %s without revealing the key', (_what, pair, message) => {
    const facts = certificateFacts(pair);
    expect('error' in facts && facts.error).toMatch(message);
    expect(JSON.stringify(facts)).not.toContain('PRIVATE');
  });
});

describe('contextOptions', () => {
  it('accepts TLS 1.2 as the oldest version, with forward secrecy only', () => {
    const { minVersion, maxVersion, ciphers = '' } = contextOptions(site);
    expect([minVersion, maxVersion]).toEqual(['TLSv1.2', undefined]);
    expect(ciphers.split(':').filter((suite) => !/^(?:TLS_|ECDHE-)/.test(suite))).toEqual([]);
  });
});

describe('TlsContexts', () => {
  const contexts = new TlsContexts([backend, site, wildcard]);
  const fallback = contexts.select('');
  const ofSite = contexts.select('site.test');
  const ofWildcard = contexts.select('any.wild.test');

  it('has three different ones', () => {
    expect(new Set([fallback, ofSite, ofWildcard]).size).toBe(3);
  });

  it.each<[string, SecureContext | undefined]>([
    ['www.site.test', ofSite],
    ['SITE.Test', ofSite],
    ['site.test.', ofSite],
    ['localhost', fallback],
    ['other.wild.test', ofWildcard],
    ['wild.test', fallback],
    ['a.b.wild.test', fallback],
    ['.wild.test', fallback],
    ['unknown.test', fallback],
    ['*.wild.test', ofWildcard],
    ['__proto__', fallback],
  ])('%s', (name, context) => {
    expect(contexts.select(name)).toBe(context);
  });

  it('keeps its certificates if a new set is unusable', () => {
    expect(() => contexts.replace([site, { cert: backend.cert, key: site.key }])).toThrow();
    expect(contexts.select('site.test')).toBe(ofSite);
  });
});
