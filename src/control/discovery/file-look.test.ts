/** What a file may say; the rest of its handling is in test/integration/resilience/discovery.test.ts. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { FILE_BYTES_MAX } from './file-look.ts';
import { targetsIn } from './listed-targets.ts';

const egress = new Egress(
  { allow: [], deny: ['10.9.0.0/16', 'denied.test'], unixSocketsFrom: [] },
  new OwnListeners(createOwnPorts(), systemClock),
);
const look = (text: string) => targetsIn('a.yaml', Buffer.from(text), 8443, egress);

it.each([
  ['a list in JSON', '[{"host": "a.test", "port": 1, "weight": 2, "zone": "z"}]'],
  ['a list in YAML', '- {host: a.test, port: 1, weight: 2, zone: z}'],
  ['a member `targets`', 'targets:\n  - host: a.test\n    port: 1\n    weight: 2\n    zone: z\n'],
])('%s', (_name, text) => {
  expect(look(text)).toEqual({
    kind: 'found',
    targets: [{ host: 'a.test', port: 1, weight: 2, zone: 'z' }],
    notes: [],
  });
});

it('a target without a port gets the port of the revision; brackets of IPv6 are removed', () => {
  expect(look('- host: "[::1]"')).toMatchObject({ targets: [{ host: '::1', port: 8443, weight: 100 }] });
});

it('targets that the gateway must not connect to are not used, and told', () => {
  expect(look('- host: 10.9.1.1\n- host: denied.test\n- host: a.test')).toMatchObject({
    targets: [{ host: 'a.test' }],
    notes: [
      'not used: 10.9.1.1 is denied by GATEWAY_EGRESS__DENY',
      'not used: denied.test is denied by GATEWAY_EGRESS__DENY',
    ],
  });
  expect(look('- host: 10.9.1.1')).toEqual({
    kind: 'failed',
    error: 'no target is permitted: 10.9.1.1 is denied by GATEWAY_EGRESS__DENY',
  });
});

it('the longest list of targets is read, written at length', () => {
  const targets = Array.from({ length: 256 }, (_none, index) => ({
    host: `target-${index}.billing.internal`,
    port: 8_443,
    weight: 100,
    zone: 'eu-central-1a',
  }));
  const text = JSON.stringify({ targets }, null, 4);
  expect(text.length).toBeLessThan(FILE_BYTES_MAX / 2);
  expect(look(text)).toMatchObject({ kind: 'found', targets });
  const lines = targets.map(
    ({ host, port, weight, zone }) =>
      `# one\n- host: '${host}'\n  port: ${port}\n  weight: ${weight}\n  zone: ${zone}\n\n`,
  );
  expect(look(lines.join(''))).toMatchObject({ kind: 'found', targets });
});

it.each([
  ['commas', ','],
  ['lists', '[]\n'],
  ['blank lines', '\n'],
  ['names', 'a:\n'],
  ['questions', '?\n'],
  ['entries', '- {host: a}\n'],
  ['tags', '! '],
])('a file of nothing but %s costs no more when it is as long as it may be', (_name, part) => {
  const costOf = (bytes: number): number => {
    const text = `${part === ',' ? '[' : ''}${part.repeat(bytes / part.length)}`;
    const { user } = process.cpuUsage();
    expect(look(text).kind).toBe('failed');
    return (process.cpuUsage().user - user) / 1_000;
  };
  costOf(FILE_BYTES_MAX / 4);
  const quarter = costOf(FILE_BYTES_MAX / 4);
  // Without a bound: four times as much at least, and for most several seconds.
  expect(costOf(FILE_BYTES_MAX)).toBeLessThan(2 * quarter + 200);
});

it('whatever a file holds is a list of at most 256 targets, or an error with a place', () => {
  const target = fc.record(
    {
      host: fc.oneof(fc.domain(), fc.ipV4(), fc.string()),
      port: fc.integer(),
      weight: fc.integer(),
      x: fc.nat(),
    },
    { requiredKeys: [] },
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 400 }),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.array(target, { maxLength: 300 }).map((list) => JSON.stringify(list)),
    fc
      .tuple(fc.array(target, { minLength: 1, maxLength: 8 }), fc.nat({ max: 400 }))
      .map(([list, end]) => JSON.stringify({ targets: list }).slice(0, end)),
  );
  fc.assert(
    fc.property(text, (content) => {
      const found = look(content);
      if (found.kind !== 'found') {
        expect(found).toMatchObject({
          kind: 'failed',
          error: expect.stringMatching(/^(?:a\.yaml:\d+:\d+: |no target is permitted: )/),
        });
        return;
      }
      expect(found.targets.length).toBeGreaterThan(0);
      expect(found.targets.length).toBeLessThanOrEqual(256);
      for (const { port, weight } of found.targets) {
        expect(port).toBeGreaterThan(0);
        expect(weight).toBeGreaterThanOrEqual(0);
      }
    }),
  );
});
