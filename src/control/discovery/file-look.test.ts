/** What a file may say; the rest of its handling is in test/integration/resilience/discovery.test.ts. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { targetsIn } from './file-look.ts';

const egress = new Egress(
  { allow: [], deny: ['10.9.0.0/16', 'denied.test'] },
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

it('a target without a port has that of the revision; brackets of IPv6 go', () => {
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
