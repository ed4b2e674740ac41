/** What is made of answers of DNS, and that a resolver that lies reaches no more than a written backend could. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../../test/support/backends/dns-server.ts';
import { Egress, type EgressLists } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { DnsLook } from './dns-look.ts';

let dns: DnsServer;
beforeEach(async () => {
  dns = await startDnsServer();
});
afterEach(() => dns.close());

function lookWith(lists: Partial<EgressLists> = {}): DnsLook {
  const own = new OwnListeners(createOwnPorts(), systemClock);
  own.set('management', 9090);
  return new DnsLook({
    servers: [dns.address],
    timeoutMs: 500,
    srvIntervalMs: 10_000,
    egress: new Egress({ allow: [], deny: [], ...lists }, own),
    monotonicMs: () => systemClock.monotonicMs(),
  });
}

const addresses = (look: DnsLook, host: string, port = 80) =>
  look.addressesOf({ type: 'dns', host, port }, new Map());
const places = (look: DnsLook, name: string) => look.placesOf({ type: 'dns_srv', name }, new Map());

it('is asked again when the first record expires', async () => {
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

it('an allowed name allows its addresses, as it would for a written backend, but for what no name lifts', async () => {
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
