/** Contexts of ordered certificates: made when they are needed, and not more of them than are bounded. */
import type { SecureContext } from 'node:tls';
import { expect, it } from 'vitest';
import { CONTEXTS_MAX, OrderedCertificates } from './ordered-certificates.ts';

const NO_ANSWERS = { httpAnswers: [], alpnAnswers: [] };

it('those used last are kept, the others are made again', () => {
  const made: string[] = [];
  const store = new OrderedCertificates(
    () => 0,
    () => expect.unreachable(),
    ({ cert }) => {
      made.push(cert);
      return {} as SecureContext;
    },
  );
  const names = Array.from({ length: CONTEXTS_MAX + 1 }, (_, index) => `n${index}.test`);
  const certificates = names.map((name) => [name, { cert: name, key: '', expiresAtMs: 1 }] as const);
  store.apply({ certificates, ...NO_ANSWERS });
  expect(made).toEqual([]);
  const [first = '', second = ''] = names;
  for (const name of names.slice(0, -1)) store.select(name);
  const kept = store.select(first);
  store.select(names.at(-1) ?? '');
  expect(made).toEqual(names);
  expect(store.select(first)).toBe(kept);
  expect(made).toHaveLength(names.length);
  store.select(second);
  expect(made.slice(names.length)).toEqual([second]);
  // A renewed certificate has a context of its own.
  store.apply({ certificates: [[first, { cert: 'renewed', key: '', expiresAtMs: 1 }]], ...NO_ANSWERS });
  expect(store.select(first)).not.toBe(kept);
  expect(made.at(-1)).toBe('renewed');
});

it('one that cannot be used, or has expired, is reported once, and again when it was replaced', () => {
  const reported: string[] = [];
  let nowMs = 0;
  const store = new OrderedCertificates(
    () => nowMs,
    ({ name, reason }) => void reported.push(`${name}: ${reason}`),
  );
  const broken = { cert: 'no certificate', key: 'no key', expiresAtMs: 10 };
  store.apply({
    certificates: [
      ['broken.test', broken],
      ['old.test', { ...broken, expiresAtMs: 5 }],
    ],
    ...NO_ANSWERS,
  });
  nowMs = 5;
  for (let handshake = 0; handshake < 3; handshake++)
    for (const name of ['broken.test', 'old.test', 'unknown.test'])
      expect(store.select(name)).toBeUndefined();
  expect(reported).toEqual([
    expect.stringMatching(/^broken\.test: .*(?:PEM|no start line)/i),
    'old.test: it expired at 1970-01-01T00:00:00.005Z',
  ]);
  store.apply({ certificates: [['broken.test', broken]], ...NO_ANSWERS });
  store.select('broken.test');
  expect(reported).toHaveLength(3);
});
