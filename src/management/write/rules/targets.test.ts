import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../api/merge-patch.ts';
import { balancingErrors, placeBackend, withoutReplacedForm, type TargetsInput } from './targets.ts';

const target = (host: string, port = 80) => ({ host, port, weight: 100 });
const THREE = [target('a'), target('b'), target('c', 81)];

describe('placeBackend', () => {
  it('stores exactly one plain target in its short form, whichever form it came in', () => {
    const stored = { backend_host: 'a', backend_port: 80, targets: null, discovery: null };
    expect(placeBackend({ backend_host: 'a', backend_port: 80 })).toEqual(stored);
    expect(placeBackend({ targets: [{ host: 'a', port: 80 }] })).toEqual(stored);
    expect(placeBackend({ backend_host: 'a', backend_port: 80, targets: [{ host: 'a' }] })).toEqual(stored);
    expect(placeBackend({ backend_host: 'a' })).toEqual({ ...stored, backend_port: 443 });
  });

  it('lets the short form name the first of several targets', () => {
    const stored = { backend_host: 'a', backend_port: 80, targets: THREE, discovery: null };
    expect(placeBackend({ targets: THREE })).toEqual(stored);
    expect(placeBackend({ backend_host: 'a', backend_port: 80, targets: THREE })).toEqual(stored);
  });

  it.each<[string, TargetsInput, string]>([
    ['neither form', {}, '/backend_host'],
    ['two forms that differ in the host', { backend_host: 'b', targets: THREE }, '/backend_host'],
    ['two forms that differ in the port', { backend_port: 81, targets: THREE }, '/backend_port'],
    ['a text that is not a host', { targets: [target('a'), target('http://b')] }, '/targets/1/host'],
    ['the same place twice', { targets: [target('a'), target('b'), target('A')] }, '/targets/2'],
    ['no weight at all', { targets: [{ ...target('a'), weight: 0 }] }, '/targets'],
  ])('refuses %s', (_what, input, pointer) => {
    const placed = placeBackend(input);
    expect('errors' in placed && placed.errors.map((error) => error.pointer)).toEqual([pointer]);
  });
});

describe('a patch', () => {
  const patched = (before: TargetsInput, patch: unknown) =>
    placeBackend(mergePatch(withoutReplacedForm({ ...before }, patch), patch) as TargetsInput);
  const several = { backend_host: 'a', backend_port: 80, targets: THREE, discovery: null };
  const single = { backend_host: 'a', backend_port: 80, targets: null, discovery: null };

  it.each<[string, TargetsInput, unknown, object]>([
    ['of targets replaces the short form', single, { targets: THREE }, several],
    [
      'of the short form replaces the targets',
      several,
      { backend_host: 'x' },
      { backend_host: 'x', backend_port: 80, targets: null, discovery: null },
    ],
    [
      'of the port alone leaves one target, too',
      several,
      { backend_port: 90 },
      { backend_host: 'a', backend_port: 90, targets: null, discovery: null },
    ],
    [
      'that says what is so already changes nothing',
      several,
      { backend_host: 'a', backend_port: 80 },
      several,
    ],
    ['of other fields changes nothing', several, { traffic_weight: 5 }, several],
    ['that removes the targets leaves the first', several, { targets: null, discovery: null }, single],
    [
      'of both forms is both',
      single,
      { backend_host: 'b', backend_port: 80, targets: [THREE[1], THREE[0]] },
      { backend_host: 'b', backend_port: 80, targets: [THREE[1], THREE[0]], discovery: null },
    ],
  ])('%s', (_what, before, patch, after) => {
    expect(patched(before, patch)).toEqual(after);
  });

  it('with both forms is refused if they differ', () => {
    expect(patched(single, { backend_host: 'z', targets: THREE })).toHaveProperty('errors');
  });

  it('with what was answered changes nothing, whatever that is', () => {
    const places = fc.uniqueArray(
      fc.tuple(fc.constantFrom('a', 'b', '10.0.0.1', '::1'), fc.integer({ min: 1, max: 5 })),
      {
        minLength: 1,
        selector: String,
      },
    );
    fc.assert(
      fc.property(places, (list) => {
        const stored = placeBackend({ targets: list.map(([host, port]) => ({ host, port })) });
        if ('errors' in stored) throw new Error('refused');
        expect(patched(stored, { ...stored })).toEqual(stored);
        expect(placeBackend(stored)).toEqual(stored);
      }),
    );
  });
});

describe('balancingErrors', () => {
  const of = (settings: Parameters<typeof balancingErrors>[0]) =>
    balancingErrors(settings).map(({ pointer }) => pointer.replace('/load_balancing/', ''));

  it('requires a hash with the algorithm hash, and refuses it with others', () => {
    expect(of(null)).toEqual([]);
    expect(of({ algorithm: 'hash' })).toEqual(['hash']);
    expect(of({ hash: { by: 'ip' } })).toEqual(['hash']);
    expect(of({ algorithm: 'hash', hash: { by: 'ip' } })).toEqual([]);
  });

  it('requires a name for all except the address, and allows a lifetime only for cookies', () => {
    for (const by of ['header', 'cookie', 'claim', 'path'] as const) {
      expect(of({ algorithm: 'hash', hash: { by } })).toEqual(['hash/name']);
      expect(of({ algorithm: 'hash', hash: { by, name: 'user_id' } })).toEqual([]);
    }
    expect(of({ algorithm: 'hash', hash: { by: 'ip', name: 'x' } })).toEqual(['hash/name']);
    expect(of({ algorithm: 'hash', hash: { by: 'cookie', name: 'a;b' } })).toEqual(['hash/name']);
    expect(of({ algorithm: 'hash', hash: { by: 'header', name: 'x', ttl_secs: 5 } })).toEqual([
      'hash/ttl_secs',
    ]);
  });

  it('requires the longest ejection to be at least as long as the first', () => {
    expect(of({ ejection: { base_secs: 60, max_secs: 30 } })).toEqual(['ejection/max_secs']);
    expect(of({ ejection: { base_secs: 600 } })).toEqual([]);
  });
});
