/** Chains of certificates that openssl has made: which are accepted, and why others are not. */
import { createPublicKey, X509Certificate } from 'node:crypto';
import { afterAll, describe, expect, it, vi } from 'vitest';
import {
  CA_EXTENSIONS,
  CertificateMaker,
  CLIENT_EXTENSIONS,
  type Made,
} from '../../test/support/programs/certificate-maker.ts';
import { rocaModulus } from '../../test/support/data/roca.ts';
import type { Certificate } from './certificate.ts';
import { readRevocationLists } from './revocation-list.ts';
import { readPemCertificates, readTrustBundle, type TrustBundle } from './trust-bundle.ts';
import { verifyChain, type ChainRules } from './verify-chain.ts';

const maker = new CertificateMaker();
afterAll(() => maker.remove());

const RULES: ChainRules = { nowMs: Date.now() + 60_000, overdueCrls: 'refuse', needsLists: false };
const DAY_MS = 86_400_000;

const root = maker.authority('root');
const middle = maker.issue('middle', root, { extensions: CA_EXTENSIONS });
const shallow = maker.issue('shallow', root, {
  extensions: ['basicConstraints=critical,CA:TRUE,pathlen:0', 'keyUsage=critical,keyCertSign'],
});
const belowShallow = maker.issue('below-shallow', shallow, { extensions: CA_EXTENSIONS });
const constrained = maker.issue('constrained', root, {
  extensions: [...CA_EXTENSIONS, 'nameConstraints=permitted;DNS:.example.com'],
});
const web = maker.issue('web', root);
const ROCA = createPublicKey({ format: 'jwk', key: { kty: 'RSA', n: rocaModulus(), e: 'AQAB' } });
const deep = maker.issue('deep', middle);
const other = maker.authority('root-of-others');
/** Another key under the name of the root. */
const impostor = maker.authority('impostor', { subject: '/CN=root' });

function certificate({ cert }: Made): Certificate {
  const found = readPemCertificates(cert, 1);
  if ('error' in found) throw new Error(found.error);
  return found[0] as Certificate;
}

function bundleOf(trusted: readonly Made[], revocations?: string): TrustBundle {
  const files = {
    certificates: trusted.map(({ cert }) => cert).join(''),
    revocations: revocations === undefined ? undefined : Buffer.from(revocations),
  };
  const bundle = readTrustBundle(files);
  if ('error' in bundle) throw new Error(bundle.error);
  return bundle;
}

function verdict(
  leaf: Made,
  sent: readonly Made[],
  bundle: TrustBundle,
  rules: Partial<ChainRules> = {},
): string {
  const found = verifyChain(certificate(leaf), sent.map(certificate), bundle, { ...RULES, ...rules });
  if ('problem' in found) return `${found.problem} ${found.at.subjectText}`;
  return found.chain.map(({ subjectText }) => subjectText).join(' < ');
}

describe('verifyChain', () => {
  const trusted = bundleOf([root]);

  it.each<[string, Made, readonly Made[], TrustBundle, string]>([
    ['a certificate of a trusted CA', web, [], trusted, 'CN=web < CN=root'],
    ['one over an intermediate CA that was sent', deep, [middle], trusted, 'CN=deep < CN=middle < CN=root'],
    [
      'further certificates in any order',
      deep,
      [web, root, other, middle],
      trusted,
      'CN=deep < CN=middle < CN=root',
    ],
    ['an intermediate CA that is trusted itself', deep, [], bundleOf([middle]), 'CN=deep < CN=middle'],
    ['a certificate that is trusted itself', web, [], bundleOf([web]), 'CN=web'],
    ['without the intermediate CA', deep, [], trusted, 'unknown_issuer CN=deep'],
    ['of another CA', web, [root], bundleOf([other]), 'unknown_issuer CN=root'],
    ['a CA of the same name and another key', web, [], bundleOf([impostor]), 'unknown_issuer CN=web'],
    ['the right one beside it', web, [], bundleOf([impostor, root]), 'CN=web < CN=root'],
  ])('%s', (_what, leaf, sent, bundle, expected) => {
    expect(verdict(leaf, sent, bundle)).toBe(expected);
  });

  it.each<[string, () => Made, readonly Made[], string]>([
    ['expired', () => maker.issue('old', root, { days: -1 }), [], 'expired CN=old'],
    [
      'for servers only',
      () => maker.issue('server', root, { extensions: ['extendedKeyUsage=serverAuth'] }),
      [],
      'not_for_clients CN=server',
    ],
    [
      'whose key may not sign',
      () => maker.issue('cipher', root, { extensions: ['keyUsage=keyEncipherment'] }),
      [],
      'not_for_clients CN=cipher',
    ],
    ['issued by one that is no CA', () => maker.issue('child', web), [web], 'not_a_ca CN=web'],
    [
      'below a path length',
      () => maker.issue('long', belowShallow),
      [belowShallow, shallow],
      'path_too_long CN=shallow',
    ],
    ['at a path length', () => maker.issue('fits', shallow), [shallow], 'CN=fits < CN=shallow < CN=root'],
    [
      'below constraints of names',
      () => maker.issue('bound', constrained),
      [constrained],
      'unknown_constraint CN=constrained',
    ],
    ['with a short key', () => maker.issue('short', root, { key: ['rsa:1024'] }), [], 'weak_key CN=short'],
    [
      'with a long exponent',
      () =>
        maker.issue('dear', root, { key: ['rsa:2048', '-pkeyopt', `rsa_keygen_pubexp:${2n ** 65n + 1n}`] }),
      [],
      'weak_key CN=dear',
    ],
    ['with weak factors', () => maker.issue('roca', root, { publicKey: ROCA }), [], 'weak_key CN=roca'],
    ['signed with SHA-1', () => maker.issue('sha1', root, { digest: '-sha1' }), [], 'weak_signature CN=sha1'],
    [
      'with a critical extension of its own',
      () => maker.issue('odd', root, { extensions: [...CLIENT_EXTENSIONS, '1.2.3.4=critical,ASN1:NULL'] }),
      [],
      'unknown_constraint CN=odd',
    ],
    ['of RSA', () => maker.issue('rsa', root, { key: ['rsa:2048'] }), [], 'CN=rsa < CN=root'],
    [
      'of RSA for PSS',
      () => maker.issue('pss', root, { key: ['rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048'] }),
      [],
      'CN=pss < CN=root',
    ],
    ['of Ed25519', () => maker.issue('edwards', root, { key: ['ed25519'] }), [], 'CN=edwards < CN=root'],
    ['without any extension', () => maker.issue('plain', root, { extensions: [] }), [], 'CN=plain < CN=root'],
  ])('one %s', (_what, make, sent, expected) => {
    expect(verdict(make(), sent, trusted)).toBe(expected);
  });

  it('asks the time of every certificate', () => {
    expect(verdict(deep, [middle], trusted, { nowMs: RULES.nowMs - DAY_MS })).toMatch(/^not_yet_valid/);
    expect(verdict(deep, [middle], trusted, { nowMs: RULES.nowMs + 40 * DAY_MS })).toMatch(/^expired/);
  });

  it('says until when the verdict holds', () => {
    const found = verifyChain(certificate(web), [], trusted, RULES);
    expect('chain' in found && [found.validFromMs, found.expiresAtMs]).toEqual([
      certificate(web).validFromMs,
      Math.min(certificate(web).expiresAtMs, certificate(root).expiresAtMs),
    ]);
  });

  it('does not verify a signature with a key that no trusted key has signed', () => {
    const unnamed = ['authorityKeyIdentifier=none', 'subjectKeyIdentifier=none'];
    const crowd = Array.from({ length: 9 }, (_, index) =>
      maker.authority(`crowd-${index}`, { subject: '/CN=crowd', extensions: [...CA_EXTENSIONS, ...unnamed] }),
    );
    const leaf = maker.issue('lost', crowd[0] as Made, { extensions: [...CLIENT_EXTENSIONS, ...unnamed] });
    const verify = vi.spyOn(X509Certificate.prototype, 'verify');
    expect(verdict(leaf, crowd, trusted)).toMatch(/^(?:unknown_issuer|too_much_work|path_too_long)/);
    expect(verify).toHaveBeenCalledTimes(0);
    // One of them says that it is of the root.
    const extensions = [...CA_EXTENSIONS, ...unnamed];
    const forged = maker.issue('forged', impostor, { subject: '/CN=crowd', extensions });
    expect(verdict(leaf, [forged, ...crowd], trusted)).toBe('bad_signature CN=crowd');
    expect(verify).toHaveBeenCalledTimes(1);
    verify.mockRestore();
  });
});

describe('revocation lists', () => {
  const lost = maker.issue('lost-laptop', root);
  const ofRoot = maker.revocationList(root, [lost]);
  const ofMiddle = maker.revocationList(middle, []);
  const middleRevoked = maker.revocationList(root, [middle]);
  const overdue = maker.revocationList(root, [lost], -1);
  const forged = maker.revocationList(impostor, [web]);

  it.each<[string, Made, readonly Made[], string | undefined, Partial<ChainRules>, string]>([
    ['a revoked certificate', lost, [], ofRoot, {}, 'revoked CN=lost-laptop'],
    ['another one of the same CA', web, [], ofRoot, {}, 'CN=web < CN=root'],
    ['a revoked intermediate CA', deep, [middle], middleRevoked + ofMiddle, {}, 'revoked CN=middle'],
    ['a list of each CA', deep, [middle], ofRoot + ofMiddle, {}, 'CN=deep < CN=middle < CN=root'],
    ['no list of one of the CAs', deep, [middle], ofRoot, {}, 'no_revocation_list CN=deep'],
    ['an overdue list', web, [], overdue, {}, 'revocation_list_expired CN=web'],
    ['an overdue list that is used', web, [], overdue, { overdueCrls: 'use' }, 'CN=web < CN=root'],
    ['an overdue list that has it', lost, [], overdue, { overdueCrls: 'use' }, 'revoked CN=lost-laptop'],
    ['a list of an impostor', web, [], forged, {}, 'no_revocation_list CN=web'],
    ['a list beside that of an impostor', web, [], forged + ofRoot, {}, 'CN=web < CN=root'],
    ['lists that cannot be read', web, [], 'junk', {}, 'no_revocation_list CN=web'],
    ['none, where one is required', web, [], undefined, { needsLists: true }, 'no_revocation_list CN=web'],
  ])('%s', (_what, leaf, sent, lists, rules, expected) => {
    expect(verdict(leaf, sent, bundleOf([root], lists), rules)).toBe(expected);
  });

  it('are read in DER as well', () => {
    const body = ofRoot.replace(/-----[^-]+-----/g, '');
    const bundle = readTrustBundle({ certificates: root.cert, revocations: Buffer.from(body, 'base64') });
    if ('error' in bundle) throw new Error(bundle.error);
    expect(verdict(lost, [], bundle)).toBe('revoked CN=lost-laptop');
  });

  it('of 40,000 certificates take less than a second of a processor', () => {
    const index = Array.from(
      { length: 40_000 },
      (_, at) => `R\t300101000000Z\t260101000000Z\t${(0x10000000 + at).toString(16)}\tunknown\t/CN=x\n`,
    );
    const file = Buffer.from(maker.revocationList(root, [web], 7, index.join('')));
    const before = process.cpuUsage();
    const lists = readRevocationLists(file);
    const { user, system } = process.cpuUsage(before);
    expect('error' in lists ? lists.error : lists[0]?.size).toBe(40_001);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});
