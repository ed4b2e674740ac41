/** What is made of answers of DNS, and that a resolver that lies reaches no more than a written backend could. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../../test/support/backends/dns-server.ts';
import { Egress, type EgressLists } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { DnsLook, newKnownNames } from './dns-look.ts';

let dns: DnsServer;
beforeEach(async () => {
  dns = await startDnsServer();
});
afterEach(() => dns.close());

function lookWith(lists: Partial<EgressLists> = {}, timeoutMs = 500): DnsLook {
  const own = new OwnListeners(createOwnPorts(), systemClock);
  own.set('management', 9090);
  return new DnsLook({
    servers: [dns.address],
    timeoutMs,
    srvIntervalMs: 10_000,
    egress: new Egress({ allow: [], deny: [], unixSocketsFrom: [], ...lists }, own),
    monotonicMs: () => systemClock.monotonicMs(),
  });
}

const addresses = (look: DnsLook, host: string, port = 80) =>
  look.addressesOf({ type: 'dns', host, port }, newKnownNames());
const places = (look: DnsLook, name: string) => look.placesOf({ type: 'dns_srv', name }, newKnownNames());

it('is looked up again when the first record expires', async () => {
  dns.setA('a.test', ['10.0.0.1'], 300);
  dns.setAaaa('a.test', ['2001:db8:0:0:0:0:0:1'], 60);
  expect(await addresses(lookWith(), 'a.test')).toEqual({
    kind: 'found',
    targets: [
      { host: '10.0.0.1', port: 80, weight: 100, foundAs: 'a.test', service: 'a.test' },
      { host: '2001:db8::1', port: 80, weight: 100, foundAs: 'a.test', service: 'a.test' },
    ],
    notes: [],
    againMs: 60_000,
  });
});

it('an allowed name allows its addresses, as for a configured backend, except those that no name can allow', async () => {
  const look = lookWith({ allow: ['*.good.test'] });
  dns.setA('a.good.test', ['10.0.0.1', '169.254.169.254', '127.0.0.1']);
  dns.setA('a.evil.test', ['10.0.0.1']);
  expect(await addresses(look, 'a.good.test', 9090)).toMatchObject({
    targets: [{ host: '10.0.0.1' }],
    notes: [expect.stringContaining('169.254.169.254 is'), expect.stringContaining('management listener')],
  });
  expect(await addresses(look, 'a.evil.test')).toMatchObject({
    kind: 'failed',
    error: 'no target is permitted: 10.0.0.1 is not in GATEWAY_EGRESS__ALLOW',
  });
});

it('the names of places must be permitted as the service must', async () => {
  dns.setA('a.good.test', ['10.0.0.1']);
  dns.setA('a.evil.test', ['10.0.0.2']);
  const records = [
    { name: 'a.good.test', port: 80 },
    { name: 'a.evil.test', port: 80 },
  ];
  dns.setSrv('_x._tcp.good.test', records);
  dns.setSrv('_x._tcp.evil.test', records);
  const good = [{ host: '10.0.0.1', foundAs: 'a.good.test', service: 'good.test' }];
  const allowing = lookWith({ allow: ['good.test', '*.good.test'] });
  expect(await places(allowing, '_x._tcp.good.test')).toMatchObject({
    targets: good,
    notes: ['not used: 10.0.0.2 is not in GATEWAY_EGRESS__ALLOW'],
  });
  expect(await places(allowing, '_x._tcp.evil.test')).toMatchObject({ kind: 'failed' });
  const denying = lookWith({ deny: ['*.evil.test'] });
  expect(await places(denying, '_x._tcp.good.test')).toMatchObject({
    targets: good,
    notes: ['not used: a.evil.test is denied by GATEWAY_EGRESS__DENY'],
  });
});

it('divides the weight of a place among its addresses, and gives a weight of 0 a little', async () => {
  dns.setA('one.test', ['10.0.0.1'], 5);
  dns.setA('two.test', ['10.0.0.2', '10.0.0.3'], 60);
  dns.setA('none.test', []);
  dns.setSrv('_x._tcp.test', [
    { name: 'ONE.test', port: 1, weight: 60 },
    { name: 'two.test', port: 2, weight: 30 },
    { name: 'one.test', port: 3, weight: 0 },
    { name: 'none.test', port: 4, weight: 10 },
    { name: 'one.test', port: 5, priority: 20 },
  ]);
  const found = await places(lookWith(), '_x._tcp.test');
  expect(found).toMatchObject({
    targets: [
      { host: '10.0.0.1', port: 1, weight: 600 },
      { host: '10.0.0.2', port: 2, weight: 150 },
      { host: '10.0.0.3', port: 2, weight: 150 },
      { host: '10.0.0.1', port: 3, weight: 1 },
    ],
    notes: ['none.test has no address'],
    againMs: 5_000,
  });
  // Each name was asked for once.
  expect(dns.count('A one.test')).toBe(1);
});

it('answers in words that say what failed', async () => {
  const look = lookWith();
  expect(await addresses(look, 'no.test')).toEqual({
    kind: 'failed',
    error: 'A no.test: the name does not exist (ENOTFOUND)',
  });
  dns.setSrv('empty.test', []);
  expect(await addresses(look, 'empty.test')).toEqual({ kind: 'failed', error: 'empty.test has no address' });
  expect(await places(look, 'empty.test')).toEqual({
    kind: 'failed',
    error: 'SRV empty.test: there are no such records (ENODATA)',
  });
});

it('of an answer with too many places the same 256 are resolved, and the others told', async () => {
  const names = Array.from({ length: 300 }, (_none, index) => `n${String(index).padStart(3, '0')}.test`);
  for (const [index, name] of names.entries()) dns.setA(name, [`10.0.${index >> 8}.${index & 255}`], 60);
  const records = names.map((name) => ({ name, port: 80 }));
  dns.setSrv('_x._tcp.test', records);
  const found = await places(lookWith(), '_x._tcp.test');
  expect(found).toMatchObject({ kind: 'found', leftOut: 44 });
  const asked = new Set(dns.questions.filter((question) => question.startsWith('A ')));
  expect([...asked].sort()).toEqual(names.slice(0, 256).map((name) => `A ${name}`));
  dns.setSrv('_x._tcp.test', records.toReversed());
  const again = await places(lookWith(), '_x._tcp.test');
  if (found.kind !== 'found' || again.kind !== 'found') throw new Error('both find targets');
  expect(new Set(again.targets.map(({ host }) => host))).toEqual(
    new Set(found.targets.map(({ host }) => host)),
  );
});

it('many places with names of many addresses make no more targets than can be handled', async () => {
  const hosts = Array.from({ length: 200 }, (_none, index) => `10.1.0.${index}`);
  dns.setA('many.test', hosts);
  dns.setSrv(
    '_x._tcp.test',
    Array.from({ length: 250 }, (_none, index) => ({ name: 'many.test', port: index + 1 })),
  );
  const found = await places(lookWith(), '_x._tcp.test');
  if (found.kind !== 'found') throw new Error('it finds targets');
  expect(found.targets.length).toBeLessThanOrEqual(1_280);
  expect(found.targets.length + (found.leftOut ?? 0)).toBe(50_000);
});

it('names that do not answer share one time, and those that do are found by the next look', async () => {
  const look = lookWith({}, 100);
  const names = Array.from({ length: 1_700 }, (_none, index) => `n${String(index).padStart(4, '0')}.test`);
  dns.setSrv(
    '_x._tcp.test',
    names.map((name) => ({ name, port: 80 })),
  );
  dns.modes.set('A', 'silent').set('AAAA', 'silent');
  const startedMs = performance.now();
  expect(await places(look, '_x._tcp.test')).toMatchObject({
    kind: 'failed',
    error: expect.stringContaining('n0000.test: no answer within 200 ms'),
  });
  // Some 16 s, were each of the 256 names given its time.
  expect(performance.now() - startedMs).toBeLessThan(2_500);
  dns.modes.clear();
  dns.setA('n0255.test', ['10.0.0.1']);
  const known = newKnownNames();
  names.slice(0, 255).forEach((name) => known.silent.add(name));
  const again = await look.placesOf({ type: 'dns_srv', name: '_x._tcp.test' }, known);
  expect(again).toMatchObject({ targets: [{ host: '10.0.0.1' }] });
});

it('a group of hosts, or a text that is not an address, is not a target', async () => {
  dns.setA('a.test', ['224.0.0.1', '239.255.255.255', '255.255.255.255', '0.0.0.0', '10.0.0.1']);
  dns.setAaaa('a.test', ['ff02:0:0:0:0:0:0:1', '0:0:0:0:0:0:0:0', '0:0:0:0:0:ffff:e000:0001']);
  const found = await addresses(lookWith(), 'a.test');
  expect(found).toMatchObject({ kind: 'found', targets: [{ host: '10.0.0.1' }] });
  if (found.kind !== 'found') return;
  expect(found.notes).toHaveLength(7);
  expect(found.notes).toContain('not used: 224.0.0.1 is not the address of a single host');
  dns.setA('b.test', ['224.0.0.1']);
  expect(await addresses(lookWith(), 'b.test')).toMatchObject({
    kind: 'failed',
    error: 'no target is permitted: 224.0.0.1 is not the address of a single host',
  });
});
