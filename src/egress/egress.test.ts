/** Which addresses the gateway may connect to, in every spelling, and which entry of the lists decides. */
import type { LookupFunction } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { addressForms } from './blocks.ts';
import { Egress, EgressDenied, type EgressLists } from './egress.ts';
import { createOwnPorts, OwnListeners } from './own-listeners.ts';

const MANAGEMENT = 9090;
const TRAFFIC = 8080;

function egressWith(lists: Partial<EgressLists> = {}): Egress {
  const own = new OwnListeners(createOwnPorts(), systemClock);
  own.set('management', MANAGEMENT);
  own.set('traffic', TRAFFIC);
  return new Egress({ allow: [], deny: [], unixSocketsFrom: [], ...lists }, own);
}

const mayConnect = (egress: Egress, address: string, port = 80, host = address): boolean =>
  egress.denial(host, address, port) === undefined;

describe('by default', () => {
  const egress = egressWith();

  it.each([
    '169.254.169.254',
    '169.254.0.1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::169.254.169.254',
    '::ffff:0:169.254.169.254',
    '64:ff9b::169.254.169.254',
    '64:ff9b::a9fe:1',
    '64:ff9b:1::a9fe:a9fe',
    '64:ff9b:1:a9fe:a9:fe00::',
    '2002:a9fe:a9fe::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'fd00:ec2::254',
    'FD00:0EC2:0:0::0254',
    '100.100.100.200',
    '::ffff:100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
  ])('%s is denied', (address) => {
    expect(egress.denial('x', address, 80)).toMatch(/link-local|metadata/);
    expect(egress.hostDenial(address, 80)).toMatch(/link-local|metadata/);
  });

  it.each([
    '127.0.0.1',
    '::1',
    '10.0.0.1',
    '169.253.255.255',
    '169.255.0.1',
    '100.100.100.201',
    'fec0::1',
    'fd00:ec2::255',
    '2001:db8::1',
    '64:ff9b::10.0.0.1',
  ])('%s is allowed', (address) => expect(egress.denial('x', address, 80)).toBeUndefined());

  it.each([
    ['127.0.0.1', MANAGEMENT],
    ['127.9.9.9', TRAFFIC],
    ['::1', MANAGEMENT],
    ['0.0.0.0', MANAGEMENT],
    ['::', TRAFFIC],
    ['::ffff:127.0.0.1', MANAGEMENT],
    ['::ffff:0.0.0.0', MANAGEMENT],
    ['64:ff9b::127.0.0.1', MANAGEMENT],
  ])('%s with port %d is a listener of the gateway itself', (address, port) => {
    expect(egress.denial('x', address, port)).toMatch(/listener of this gateway/);
    expect(egress.denial('x', address, 1)).toBeUndefined();
  });

  it('recognises loopback names before they are resolved', () => {
    expect(egress.hostDenial('LocalHost.', MANAGEMENT)).toMatch(/management listener/);
    expect(egress.hostDenial('x.localhost', TRAFFIC)).toMatch(/traffic listener/);
    expect(egress.hostDenial('[::1]', TRAFFIC)).toMatch(/traffic listener/);
    expect(egress.hostDenial('metadata.google.internal', 80)).toBeUndefined();
  });

  it('ignores the ports of other hosts', () => {
    expect(mayConnect(egress, '192.0.2.1', MANAGEMENT)).toBe(true);
  });
});

describe('the lists', () => {
  it('deny entries take precedence over allow entries', () => {
    const egress = egressWith({
      allow: ['10.0.0.0/8', '*.example.com'],
      deny: ['10.1.0.0/16', '10.2.0.1', 'bad.example.com', '*.evil.example.com'],
    });
    expect(mayConnect(egress, '10.0.0.1')).toBe(true);
    expect(mayConnect(egress, '10.1.2.3')).toBe(false);
    expect(mayConnect(egress, '::ffff:10.1.2.3')).toBe(false);
    expect(mayConnect(egress, '64:ff9b::10.2.0.1')).toBe(false);
    expect(mayConnect(egress, '192.0.2.1', 80, 'Bad.Example.COM.')).toBe(false);
    expect(mayConnect(egress, '192.0.2.1', 80, 'a.evil.example.com')).toBe(false);
    expect(mayConnect(egress, '192.0.2.1', 80, 'good.example.com')).toBe(true);
    expect(egress.hostDenial('bad.example.com', 80)).toContain('GATEWAY_EGRESS__DENY');
  });

  it('an allow list denies everything else', () => {
    const egress = egressWith({ allow: ['10.0.0.0/8', 'api.example.com', '*.example.org'] });
    expect(egress.denial('x', '192.0.2.1', 80)).toContain('not in GATEWAY_EGRESS__ALLOW');
    expect(mayConnect(egress, '192.0.2.1', 80, 'api.example.com')).toBe(true);
    expect(mayConnect(egress, '192.0.2.1', 80, 'x.api.example.com')).toBe(false);
    expect(mayConnect(egress, '192.0.2.1', 80, 'a.b.example.org')).toBe(true);
    expect(mayConnect(egress, '192.0.2.1', 80, 'example.org')).toBe(false);
    expect(mayConnect(egress, '192.0.2.1', 80, 'xexample.org')).toBe(false);
    expect(egress.hostDenial('other.example', 80), 'its address may be in the block').toBeUndefined();
    expect(egressWith({ allow: ['a.example'] }).hostDenial('other.example', 80)).toContain('not in');
  });

  it('an allow entry lifts a default denial if it is no wider than what is denied', () => {
    const metadata = '169.254.169.254';
    expect(mayConnect(egressWith({ allow: [metadata] }), metadata)).toBe(true);
    expect(mayConnect(egressWith({ allow: [metadata] }), `::ffff:${metadata}`)).toBe(true);
    const linkLocal = egressWith({ allow: ['169.254.0.0/16'] });
    expect(mayConnect(linkLocal, '169.254.1.1')).toBe(true);
    expect(mayConnect(linkLocal, metadata)).toBe(false);
    const everything = egressWith({ allow: ['0.0.0.0/0', '::/0', '*.example.com'] });
    expect(mayConnect(everything, metadata)).toBe(false);
    expect(mayConnect(everything, '169.254.1.1')).toBe(false);
    expect(mayConnect(everything, metadata, 80, 'x.example.com')).toBe(false);
    expect(mayConnect(everything, '127.0.0.1', MANAGEMENT)).toBe(false);
    expect(mayConnect(everything, '127.0.0.1')).toBe(true);
    const own = egressWith({ allow: ['127.0.0.1'] });
    expect(mayConnect(own, '127.0.0.1', MANAGEMENT)).toBe(true);
    expect(mayConnect(own, '127.0.0.2', MANAGEMENT)).toBe(false);
  });
});

describe('lookup', () => {
  const answering =
    (...addresses: string[]): LookupFunction =>
    (_host, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
  const find = (resolve: LookupFunction, all: boolean): Promise<unknown> =>
    new Promise((done, fail) =>
      egressWith().lookup(resolve, 80)('x.example', { all }, (error, address) =>
        error === null ? done(address) : fail(error),
      ),
    );

  it('returns the permitted addresses', async () => {
    const mixed = answering('169.254.169.254', '10.0.0.1', 'fe80::1', '10.0.0.2');
    expect(await find(mixed, true)).toEqual([
      { address: '10.0.0.1', family: 4 },
      { address: '10.0.0.2', family: 4 },
    ]);
    expect(await find(mixed, false)).toBe('10.0.0.1');
  });

  it('fails when there is no permitted address, and passes on resolver errors', async () => {
    await expect(find(answering('169.254.169.254'), true)).rejects.toThrow(EgressDenied);
    const failing: LookupFunction = (_host, _options, callback) => callback(new Error('ENOTFOUND'), '');
    await expect(find(failing, true)).rejects.toThrow('ENOTFOUND');
  });
});

describe('addressForms', () => {
  it('finds the IPv4 address in every IPv6 address that represents it', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const hex = [a, b, c, d].map((byte) => byte.toString(16).padStart(2, '0'));
        const [high, low] = [`${hex[0]}${hex[1]}`, `${hex[2]}${hex[3]}`];
        for (const form of [
          `::ffff:${address}`,
          `::FFFF:${high}:${low}`,
          `0:0:0:0:0:ffff:${high}:${low}`,
          `::ffff:0:${address}`,
          `64:ff9b::${address}`,
          `2002:${high}:${low}::`,
        ]) {
          expect(addressForms(form), form).toContain(address);
        }
      }),
    );
  });

  it('is empty for texts that are not addresses', () => {
    expect(addressForms('example.com')).toEqual([]);
    expect(addressForms('2130706433')).toEqual([]);
  });
});

describe('Unix sockets', () => {
  it('have a rule of their own: neither list opens or closes them', () => {
    const path = '/run/apps/a.sock';
    const opened = egressWith({
      allow: ['10.0.0.1'],
      deny: ['0.0.0.0/0', '*.test'],
      unixSocketsFrom: ['/run/apps'],
    });
    expect(opened.hostDenial(`unix:${path}`, 443)).toBeUndefined();
    expect(opened.socketDenial(path)).toBeUndefined();
    const closed = egressWith({ allow: ['0.0.0.0/0', '::/0'] });
    expect(closed.hostDenial(`unix:${path}`, 443)).toContain('GATEWAY_PROXY__UNIX_SOCKETS_FROM');
    expect(closed.socketDenial(path)).toContain('GATEWAY_PROXY__UNIX_SOCKETS_FROM');
  });
});
