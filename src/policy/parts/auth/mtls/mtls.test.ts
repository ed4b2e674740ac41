/** Callers by certificate: the rules of the policy, which certificate is whose, and when a verdict is made anew. */
import fc from 'fast-check';
import { Check } from 'typebox/value';
import { afterAll, describe, expect, it } from 'vitest';
import {
  CertificateMaker,
  CLIENT_EXTENSIONS,
} from '../../../../../test/support/programs/certificate-maker.ts';
import { operatorDetail } from '../../../../model/reason.ts';
import { readPemCertificates } from '../../../../x509/trust-bundle.ts';
import { TrustStore } from '../../../../x509/trust-store.ts';
import { evaluate, newEvaluation } from '../../../evaluate.ts';
import { validatePolicy } from '../../../policy-rules.ts';
import type { ClientTls, CompiledPolicy, Denial } from '../../../stage.ts';
import { testFacts, testGateway } from '../../../test-fixtures.ts';
import { AuthSchema } from '../schema.ts';
import { findCaller } from './certificate-callers.ts';
import { certificateLine } from './certificate-fields.ts';
import type { CertificateCaller } from './mtls-schema.ts';

const maker = new CertificateMaker();
afterAll(() => maker.remove());
const root = maker.authority('root');
const web = maker.issue('web', root, {
  subject: '/C=DE/O=Acme, Inc./CN=web',
  extensions: [
    ...CLIENT_EXTENSIONS,
    'subjectAltName=URI:spiffe://a.test/ns/prod/sa/web,DNS:Web.a.test,email:ops@a.test',
  ],
});
const NOW_MS = Date.now() + 60_000;
const DAY_MS = 86_400_000;
const EVERYTHING = { has: () => true };

const certificateOf = (pem: string) => {
  const found = readPemCertificates(pem, 1);
  if ('error' in found || found[0] === undefined) throw new Error('no certificate');
  return found[0];
};
const presented = (pem: string, askedFor: ClientTls['askedFor'] = EVERYTHING): ClientTls => ({
  serverName: 'a.test',
  askedFor,
  certificates: [certificateOf(pem).raw],
});

describe('auth.mtls.callers', () => {
  const certificate = certificateOf(web.cert);
  const subject = 'CN=web,O=Acme\\, Inc.,C=DE';

  it.each<[CertificateCaller, string | undefined]>([
    [{ from: 'san_uri', value: 'spiffe://a.test/ns/prod/sa/web' }, 'spiffe://a.test/ns/prod/sa/web'],
    [{ from: 'san_uri', value: 'spiffe://a.test/ns/*/sa/web' }, 'spiffe://a.test/ns/prod/sa/web'],
    [{ from: 'san_uri', value: 'spiffe://a.test/*' }, undefined],
    [{ from: 'san_uri', value: 'SPIFFE://a.test/ns/prod/sa/web' }, undefined],
    [{ from: 'san_dns', value: 'WEB.a.test' }, 'web.a.test'],
    [{ from: 'san_dns', value: '*.a.test' }, 'web.a.test'],
    [{ from: 'san_dns', value: 'web.a.test*' }, undefined],
    [{ from: 'san_email', value: '*@a.test' }, 'ops@a.test'],
    [{ from: 'subject', value: subject }, subject],
    [{ from: 'subject', value: 'CN=*,O=Acme\\, Inc.,C=DE', name: 'acme' }, 'acme'],
    [{ from: 'subject', value: 'CN=web' }, undefined],
    [
      { from: 'fingerprint', value: certificate.fingerprint.toUpperCase().replace(/..(?=.)/g, '$&:') },
      certificate.fingerprint,
    ],
    [{ from: 'fingerprint', value: '0'.repeat(64) }, undefined],
  ])('%j names %s', (rule, name) => {
    expect(findCaller([rule], certificate)?.name).toBe(name);
  });

  it.each([
    ['CN=*,O=Acme', 'CN=a,O=Acme', true],
    // One attribute, with a comma in it.
    ['CN=*,O=Acme', 'CN=a\\,O=Acme', false],
    ['CN=*,O=Acme', 'CN=a\\\\,O=Acme', true],
    ['CN=*,O=Acme', 'CN=a\\\\\\,O=Acme', false],
  ])('the subject %s is that of %s: %s', (value, subjectText, fits) => {
    const found = findCaller([{ from: 'subject', value }], { ...certificate, subjectText });
    expect(found !== undefined).toBe(fits);
  });

  it('the first entry that matches decides; without entries, the subject is the caller', () => {
    const rules: CertificateCaller[] = [
      { from: 'san_dns', value: 'other.test' },
      { from: 'san_email', value: 'ops@a.test', name: 'ops', scopes: ['a'] },
      { from: 'subject', value: subject },
    ];
    expect(findCaller(rules, certificate)).toMatchObject({ rule: 1, name: 'ops', scopes: ['a'] });
    expect(findCaller(undefined, certificate)).toMatchObject({ rule: undefined, name: subject });
  });

  it('a star stands for what a regular expression without separators would', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '.', '*'), maxLength: 8 });
    fc.assert(
      fc.property(text, text, text, (start, middle, end) => {
        const pattern = `${start.replaceAll('*', '')}*${end.replaceAll('*', '')}`;
        const value = start + middle + end;
        const names = { uris: [value], dns: [], emails: [] };
        const quoted = pattern.split('*').map((part) => part.replaceAll('.', '\\.'));
        const found = findCaller([{ from: 'san_uri', value: pattern }], { ...certificate, names });
        expect(found !== undefined).toBe(new RegExp(`^${quoted.join('[^/]+')}$`).test(value));
      }),
    );
  });
});

describe('auth.mtls.forward', () => {
  const certificate = certificateOf(web.cert);

  it('gives the certificate in the field of RFC 9440, or in that of Envoy', () => {
    expect(certificateLine('none', certificate)).toBe('');
    const raw = certificate.raw.toString('base64');
    expect(certificateLine('client_cert', certificate)).toBe(`Client-Cert: :${raw}:\r\n`);
    const line = certificateLine('x_forwarded_client_cert', certificate);
    const found =
      /^X-Forwarded-Client-Cert: Hash=(\w{64});Cert="([^"]*)";Subject="(.*)";URI=(\S+);DNS=(\S+)\r\n$/.exec(
        line,
      );
    expect(found?.slice(3)).toEqual([
      'CN=web,O=Acme\\, Inc.,C=DE',
      'spiffe://a.test/ns/prod/sa/web',
      'web.a.test',
    ]);
    expect(decodeURIComponent(found?.[2] ?? '')).toBe(web.cert);
  });

  it('no name ends the member or the line', () => {
    const names = { uris: ['a:b",URI="c'], dns: ['x;Hash=0'], emails: [] };
    const odd = { ...certificate, names, subjectText: 'CN=a\\"b\u00e4%' };
    const line = certificateLine('x_forwarded_client_cert', odd);
    expect(line).toContain(';Subject="CN=a\\"b%C3%A4%25";URI="a:b\\",URI=\\"c";DNS="x;Hash=0"\r\n');
  });
});

describe('auth_type mtls', () => {
  const trust = new TrustStore(new Map([['partners', { certificates: root.cert, revocations: undefined }]]));
  const gateway = testGateway({ trust });
  const policy = gateway.compile({ auth: { auth_type: 'mtls', mtls: { ca: 'partners' } } });
  const denialOf = (
    by: CompiledPolicy,
    clientTls: ClientTls | undefined,
    nowMs = NOW_MS,
  ): Denial | undefined => {
    const found = evaluate(by, testFacts({}, { clientTls, nowMs }), newEvaluation());
    if (found instanceof Promise) throw new Error('It waits');
    return found;
  };
  const codeOf = (clientTls: ClientTls | undefined, nowMs?: number): string | undefined =>
    denialOf(policy, clientTls, nowMs)?.kind.code;

  it('needs a connection with TLS whose handshake has asked, and a certificate', () => {
    expect(codeOf(presented(web.cert))).toBeUndefined();
    expect(codeOf(undefined)).toBe('certificate_missing');
    expect(codeOf({ ...presented(web.cert), certificates: [] })).toBe('certificate_missing');
    expect(codeOf(presented(web.cert, { has: (ca) => ca !== 'partners' }))).toBe('misdirected_request');
    expect(gateway.outcomes).toEqual(['mtls', 'missing', 'missing']);
  });

  it('looks at the time, and at files that were replaced, on every request of a connection', () => {
    const tls = presented(web.cert);
    expect(codeOf(tls)).toBeUndefined();
    expect(codeOf(tls, NOW_MS + 31 * DAY_MS)).toBe('certificate_invalid');
    expect(codeOf(tls)).toBeUndefined();
    const withList = { certificates: root.cert, revocations: Buffer.from(maker.revocationList(root, [web])) };
    trust.replace(new Map([['partners', withList]]));
    expect(codeOf(tls)).toBe('certificate_invalid');
    trust.replace(new Map());
    const denial = denialOf(policy, tls);
    expect(denial && operatorDetail(denial)).toMatch(/there are no trusted certificates "partners" here/);
    trust.replace(new Map([['partners', { certificates: root.cert, revocations: undefined }]]));
    expect(codeOf(tls)).toBeUndefined();
  });

  it('lets a request pass as anonymous where it is not required', () => {
    const optional = gateway.compile({
      auth: { auth_type: 'mtls', required: false, mtls: { ca: 'partners' } },
    });
    expect(denialOf(optional, undefined)).toBeUndefined();
    const own = maker.authority('own');
    expect(denialOf(optional, presented(own.cert))).toBeUndefined();
    const scoped = gateway.compile({
      auth: { auth_type: 'mtls', required: false, mtls: { ca: 'partners' } },
      required_scopes: ['read'],
    });
    expect(denialOf(scoped, presented(own.cert))?.kind.code).toBe('certificate_invalid');
    expect(denialOf(scoped, undefined)?.kind.code).toBe('credentials_missing');
  });

  it('refuses what is no certificate, is too long, or comes with too many', () => {
    const raw = certificateOf(web.cert).raw;
    for (const certificates of [
      [Buffer.alloc(0)],
      [Buffer.alloc(60_000, 0x30)],
      [raw.subarray(1)],
      Array(100).fill(raw),
    ])
      expect(codeOf({ ...presented(web.cert), certificates: certificates as Buffer[] })).toBe(
        'certificate_invalid',
      );
  });
});

it.each([
  [1_000, true],
  [1_001, false],
])('a certificate of %i names is read: %s', (count, isRead) => {
  const names = `subjectAltName=${Array(count).fill('DNS:a').join(',')}`;
  const { cert } = maker.issue('crowded', root, { extensions: [...CLIENT_EXTENSIONS, names] });
  expect('error' in readPemCertificates(cert, 1)).toBe(!isRead);
});

describe('a policy with mtls', () => {
  const mtls = { ca: 'partners' };
  it.each<[unknown, string | undefined]>([
    [{ auth_type: 'mtls', mtls }, undefined],
    [{ auth_type: 'mtls' }, '/auth/mtls'],
    [{ auth_type: 'jwt', mtls }, '/auth/mtls'],
    [{ auth_type: 'mtls', mtls, in: 'X-Key' }, '/auth/in'],
    [{ auth_type: 'mtls', mtls, jwt: {} }, '/auth/jwt'],
    [
      { auth_type: 'mtls', mtls: { ca: 'a', callers: [{ from: 'san_uri', value: 'a*b*c' }] } },
      '/auth/mtls/callers/0/value',
    ],
    [
      { auth_type: 'mtls', mtls: { ca: 'a', callers: [{ from: 'fingerprint', value: 'ab' }] } },
      '/auth/mtls/callers/0/value',
    ],
  ])('%j: %s', (auth, pointer) => {
    expect(validatePolicy({ auth }, { globals: undefined }, '')[0]?.pointer).toBe(pointer);
  });

  it.each<[string, unknown]>([
    ['a path', { ca: '../etc/passwd' }],
    ['no callers', { ca: 'a', callers: [] }],
    [
      '10,000 callers',
      { ca: 'a', callers: Array.from({ length: 10_000 }, () => ({ from: 'subject', value: 'CN=a' })) },
    ],
    ['a caller by nothing', { ca: 'a', callers: [{ from: 'san_uri', value: '' }] }],
  ])('is refused with %s', (_what, value) => {
    expect(Check(AuthSchema, { auth_type: 'mtls', mtls })).toBe(true);
    expect(Check(AuthSchema, { auth_type: 'mtls', mtls: value })).toBe(false);
  });
});
