import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { validatePolicy } from '../../policy-rules.ts';
import { warningsOfPolicy } from '../../policy-warnings.ts';
import type { WarningFacts } from '../../part.ts';
import { effective, run, testApp, testFacts, testGateway } from '../../test-fixtures.ts';
import { clientSentence } from '../../../model/reason.ts';
import { accessTable, decide } from './decision.ts';
import { IP_DENIED } from './ip-denied.ts';
import { ENTRIES_MAX, type IpAccessPolicy } from './schema.ts';

const from = (clientIp: string) => testFacts({}, { clientIp });

async function verdicts(ip_access: IpAccessPolicy, addresses: readonly string[]) {
  const policy = testGateway().compile({ ip_access });
  const found: (string | undefined)[] = [];
  for (const address of addresses) found.push((await run(policy, from(address))).denial?.detail);
  return found;
}

describe('the stage', () => {
  it('allows every address that is not in deny, if allow is empty', async () => {
    const deny = ['192.0.2.0/24', '2001:db8::1'];
    const denials = ['The entry 192.0.2.0/24 of deny contains 192.0.2.9', undefined, undefined];
    const addresses = ['192.0.2.9', '192.0.3.1', '2001:db8::2'];
    expect(await verdicts({ deny }, addresses)).toEqual(denials);
    expect(await verdicts({ allow: [], deny }, addresses)).toEqual(denials);
  });

  it('refuses every address that is not in allow, and those in allow that deny contains', async () => {
    const policy = { allow: ['10.0.0.0/8', '10.9.1.1', '2001:db8::/32'], deny: ['10.9.0.0/16'] };
    expect(await verdicts(policy, ['10.1.1.1', '10.9.1.1', '11.0.0.1', '2001:db8::5', '::1'])).toEqual([
      undefined,
      'The entry 10.9.0.0/16 of deny contains 10.9.1.1',
      'No entry of allow contains 11.0.0.1',
      undefined,
      'No entry of allow contains ::1',
    ]);
  });

  it('treats an address that cannot be read as one that is in no list', async () => {
    expect(await verdicts({ allow: ['0.0.0.0/0', '::/0'] }, [''])).toEqual(['No entry of allow contains ']);
    expect(await verdicts({ deny: ['0.0.0.0/0', '::/0'] }, [''])).toEqual([undefined]);
  });

  it.each<IpAccessPolicy>([{}, { allow: [] }, { allow: [], deny: [] }])('does not exist for %j', (value) => {
    expect(testGateway().compile({ ip_access: value }).stages).toEqual([]);
  });

  it('comes before authentication, and in shadow denies nothing', async () => {
    const gateway = testGateway();
    const guarded = { auth: { auth_type: 'api_key' as const }, ip_access: { deny: ['192.0.2.1'] } };
    const policy = gateway.compile(guarded);
    expect(policy.stages[0]?.part).toBe('ip_access');
    expect((await run(policy, testFacts())).denial?.code).toBe('ip_denied');
    expect(gateway.outcomes).toEqual([]);
    const shadowed = gateway.compile({ ...guarded, auth: null, shadow: ['ip_access'] });
    const { denial, evaluation } = await run(shadowed, testFacts());
    expect(denial).toBeUndefined();
    expect(evaluation.shadowDenials).toMatchObject([{ part: 'ip_access', denial: { kind: IP_DENIED } }]);
  });

  it('gives the client the same answer, whichever list decided', () => {
    const [denied, notAllowed] = (['deny', 'allow'] as const).map((list) =>
      clientSentence({ kind: IP_DENIED, data: { address: '192.0.2.1', list, entry: null } }),
    );
    expect(denied).toBe(notAllowed);
    expect(denied).not.toMatch(/allow list|deny|192/);
  });
});

/** Single addresses with a gap after each, of both families. */
const manyEntries = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => {
    const low = index * 2;
    return index % 2 === 0
      ? `10.${low >> 16}.${(low >> 8) & 255}.${low & 255}`
      : `2001:db8::${low.toString(16)}`;
  });

it('a request with 10,000 entries costs at most a few times as much as with ten', () => {
  const tables = [10, ENTRIES_MAX].map((count) => accessTable({ deny: manyEntries(count) }));
  const addresses = Array.from({ length: 1_000 }, (_, index) => `10.0.${index % 78}.${index % 256}`);
  const round = (table: (typeof tables)[number]): number => {
    const startMs = performance.now();
    for (const address of addresses) decide(table, address);
    return performance.now() - startMs;
  };
  const best = tables.map(() => Infinity);
  for (let count = 0; count < 30; count++) {
    for (const [index, table] of tables.entries()) best[index] = Math.min(best[index]!, round(table));
  }
  // A scan would cost a thousand times as much.
  expect(best[1]! / best[0]!).toBeLessThan(10);
});

describe('entries', () => {
  const errorsOf = (ip_access: IpAccessPolicy) =>
    validatePolicy({ ip_access }, { globals: undefined }, '/default_policy');

  it.each([
    ['10.0.0.256', /IP address or a CIDR block/],
    ['10.0.0.0/33', /IP address or a CIDR block/],
    ['fe80::1%eth0', /IP address or a CIDR block/],
    ['example.com', /IP address or a CIDR block/],
    ['', /IP address or a CIDR block/],
    ['10.1.2.3/8', /the network is 10\.0\.0\.0\/8$/],
    ['2001:db8::1/32', /the network is 2001:db8::\/32$/],
    ['::ffff:10.1.2.3/104', /the network is 10\.0\.0\.0\/8$/],
    ['192.0.2.1/32', /must not repeat entry 0$/],
    ['::ffff:192.0.2.1', /must not repeat entry 0$/],
    ['2001:DB8:0::/48', /must not repeat entry 1$/],
  ])('refuses %j', (entry, detail) => {
    const allow = ['192.0.2.1', '2001:db8::/48', entry];
    expect(errorsOf({ allow, deny: allow.slice(0, 2) })).toEqual([
      { pointer: '/default_policy/ip_access/allow/2', detail: expect.stringMatching(detail) },
    ]);
  });

  it('may overlap, and may be in both lists', () => {
    const entries = ['10.0.0.0/8', '10.1.0.0/16', '10.0.0.0/16', '0.0.0.0/0', '::/0', '::ffff:1.2.3.4/128'];
    expect(errorsOf({ allow: entries, deny: entries })).toEqual([]);
    expect(errorsOf({ deny: manyEntries(ENTRIES_MAX) })).toEqual([]);
  });

  it('are told of up to a bound', () => {
    expect(errorsOf({ deny: Array.from({ length: 1_000 }, () => 'x') })).toHaveLength(100);
  });
});

it.each<[IpAccessPolicy, boolean]>([
  [{ allow: ['10.0.0.0/8', '192.0.2.1'], deny: ['10.0.0.0/9', '10.128.0.0/9', '192.0.2.0/24'] }, true],
  [{ allow: ['10.0.0.0/8', '192.0.2.1'], deny: ['10.0.0.0/8'] }, false],
  [{ deny: ['0.0.0.0/0', '::/0'] }, true],
  [{ deny: ['0.0.0.0/0'] }, false],
  [{ allow: ['10.0.0.0/8'] }, false],
  [{}, false],
])('warns where deny covers all that is allowed: %j %s', async (ip_access, isWarned) => {
  const facts = {} as WarningFacts;
  const view = { app: testApp(), endpoint: undefined, effective: effective({ ip_access }), pointer: '/p' };
  const found = await warningsOfPolicy({ ...view, isOwn: () => true }, facts);
  const expected = { code: 'ip_access_denies_all', pointer: '/p/ip_access/deny' };
  expect(found).toMatchObject(isWarned ? [expected] : []);
  expect(await warningsOfPolicy({ ...view, isOwn: () => false }, facts)).toEqual([]);
});
