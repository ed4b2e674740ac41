import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../api/merge-patch.ts';
import { NO_HOST, readDiscovery, serviceName } from './discovery.ts';
import { placeBackend, withoutReplacedForm, type TargetsInput } from './targets.ts';

const DNS = { type: 'dns', host: 'a.test', port: 80 } as const;
const SRV = { type: 'dns_srv', name: '_http._tcp.a.test' } as const;
const FILE = { type: 'file', path: 'a/b.yaml' } as const;

const byDns = { backend_host: 'a.test', backend_port: 80, targets: null, discovery: DNS };
const bySrv = { backend_host: 'a.test', backend_port: 443, targets: null, discovery: SRV };
const byFile = { backend_host: NO_HOST, backend_port: 8080, targets: null, discovery: FILE };
const single = { backend_host: 'b.test', backend_port: 90, targets: null, discovery: null };
const several = {
  backend_host: 'b.test',
  backend_port: 90,
  targets: [
    { host: 'b.test', port: 90, weight: 100 },
    { host: 'c.test', port: 90, weight: 100 },
  ],
  discovery: null,
};

describe('discovery in place of a backend', () => {
  it('has the service as its short form', () => {
    expect(placeBackend({ discovery: DNS })).toEqual(byDns);
    expect(placeBackend({ discovery: SRV })).toEqual(bySrv);
    expect(placeBackend({ discovery: FILE, backend_port: 8080 })).toEqual(byFile);
    expect(placeBackend({ discovery: { type: 'dns', host: 'a.test.' } })).toMatchObject({
      backend_port: 443,
      discovery: { host: 'a.test', port: 443 },
    });
  });

  it.each<[string, TargetsInput, string]>([
    ['targets beside it', { discovery: DNS, targets: several.targets }, '/targets'],
    ['another host', { discovery: DNS, backend_host: 'b.test' }, '/backend_host'],
    ['another port', { discovery: DNS, backend_port: 81 }, '/backend_port'],
    ['a name without a host', { discovery: { type: 'dns' } }, '/discovery/host'],
    ['an address', { discovery: { type: 'dns', host: '10.0.0.1' } }, '/discovery/host'],
    ['a text that is not a name', { discovery: { type: 'dns_srv', name: 'a b' } }, '/discovery/name'],
    ['a service without a name', { discovery: { type: 'dns_srv', name: '_a._b' } }, '/discovery/name'],
    ['fields of another type', { discovery: { ...FILE, port: 1 } }, '/discovery/port'],
    ['a file that is not below', { discovery: { type: 'file', path: '../a' } }, '/discovery/path'],
    ['a whole path', { discovery: { type: 'file', path: '/a' } }, '/discovery/path'],
    ['a NUL', { discovery: { type: 'file', path: 'a\0b' } }, '/discovery/path'],
  ])('refuses %s', (_what, input, pointer) => {
    const placed = placeBackend(input);
    expect('errors' in placed && placed.errors.map((error) => error.pointer)).toEqual([pointer]);
  });

  it('never names a file outside of its folder', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('.', '/', 'a', '\\', '\0', ' ') }), (path) => {
        const read = readDiscovery({ type: 'file', path });
        if ('errors' in read) return;
        expect(new URL(`file:///top/${path.replaceAll(' ', '%20')}`).pathname).toBe(
          `/top/${path.replaceAll(' ', '%20')}`,
        );
      }),
    );
  });

  it.each([
    ['_https._tcp.a.test', 'a.test'],
    ['a.service.consul', 'a.service.consul'],
    ['_a.b.test', '_a.b.test'],
    ['_a._b', ''],
  ])('%s is a service of %s', (name, service) => {
    expect(serviceName(name)).toBe(service);
  });
});

describe('a patch', () => {
  const patched = (before: TargetsInput, patch: unknown) =>
    placeBackend(mergePatch(withoutReplacedForm({ ...before }, patch), patch) as TargetsInput);

  it.each<[string, TargetsInput, unknown, object]>([
    ['of discovery replaces the short form', single, { discovery: DNS }, byDns],
    ['of discovery replaces the targets', several, { discovery: SRV }, bySrv],
    ['of another type replaces all of it', byDns, { discovery: SRV }, bySrv],
    [
      'of one field leaves the others',
      byDns,
      { discovery: { port: 90 } },
      {
        ...byDns,
        backend_port: 90,
        discovery: { ...DNS, port: 90 },
      },
    ],
    [
      'of the path leaves the port',
      byFile,
      { discovery: { path: 'c' } },
      {
        ...byFile,
        discovery: { ...FILE, path: 'c' },
      },
    ],
    ['of the host replaces discovery', byDns, { backend_host: 'b.test', backend_port: 90 }, single],
    ['of the targets replaces discovery', bySrv, { targets: several.targets }, several],
    ['that removes discovery leaves the name', byDns, { discovery: null }, { ...byDns, discovery: null }],
    ['of other fields changes nothing', byFile, { traffic_weight: 5 }, byFile],
    ...[byDns, bySrv, byFile, single, several].map((stored): [string, TargetsInput, unknown, object] => [
      'with what was answered changes nothing',
      stored,
      stored,
      stored,
    ]),
  ])('%s', (_what, before, patch, after) => {
    expect(patched(before, patch)).toEqual(after);
  });

  it('that removes a file needs a host', () => {
    expect(patched(byFile, { discovery: null })).toMatchObject({ errors: [{ pointer: '/backend_host' }] });
  });
});
