import { expect, it } from 'vitest';
import { secretKeyChecks } from './secret-key-checks.ts';

it('URLs of webhooks that an older version stored without encryption are named, with what ends that', () => {
  const counts = [
    { place: 'webhooks', keyId: 'abcdefgh', state: 'current', count: 3 },
    { place: 'webhooks', keyId: undefined, state: 'plain', count: 2 },
  ] as const;
  expect(secretKeyChecks({ box: undefined }, counts)).toEqual([
    expect.objectContaining({
      detail: '2 URLs of webhooks are stored without encryption, by an older version',
      fix: 'when every gateway on the database has this version, run headgate secrets rekey',
    }),
  ]);
  expect(secretKeyChecks({ box: undefined }, counts.slice(0, 1))).toEqual([]);
});

it('does not take the old key for the new one: in the first step of a change the old one is the first', () => {
  const box = { keyIds: ['oldoldol', 'newnewne'], keyName: 'GATEWAY_SECRET_KEY' } as never;
  const counts = [{ place: 'policies', keyId: 'oldoldol', state: 'current', count: 3 }] as const;
  expect(secretKeyChecks({ box }, counts)).toEqual([
    expect.objectContaining({ fix: expect.stringContaining('if it is the old one, put the new one first') }),
  ]);
});
