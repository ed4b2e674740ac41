/** What is kept of policies that were replaced: a pipeline may write new keys again and again. */
import { expect, it } from 'vitest';
import { heapBytes } from '../../../../../test/support/measure/garbage.ts';
import { testGateway } from '../../../test-fixtures.ts';
import { jwks } from '../../../test-jwts.ts';
import { resolveJwt } from './jwt-settings.ts';
import { createJwtVerifiers } from './jwt-verifier.ts';

const KEYS = 100;
const CHANGES = 300;
/** A set of so many keys and the text that names it take 60 KB. */
const BYTES_PER_CHANGE_MAX = 10_000;

const { dependencies } = testGateway();
const { jwtDefaults } = dependencies;

it('nothing of the keys of earlier policies', async () => {
  const { keys } = jwks;
  const gateway = testGateway();
  const change = (number: number): void => {
    const own = Array.from({ length: KEYS }, (_, index) => ({ ...keys.at(-1), kid: `${number}-${index}` }));
    gateway.compile({ auth: { auth_type: 'jwt', jwt: { jwks: { keys: own } } } });
  };
  for (let number = 0; number < 10; number++) change(number);
  // A reference that was read is kept until the end of the turn.
  const turn = (): Promise<void> => new Promise((done) => setImmediate(done));
  await turn();
  const before = heapBytes();
  for (let number = 10; number < 10 + CHANGES; number++) change(number);
  await turn();
  expect((heapBytes() - before) / CHANGES).toBeLessThan(BYTES_PER_CHANGE_MAX);
});

it('of a key only what verifies signatures', () => {
  const keys = jwks.keys.map((key) => ({ ...key }));
  const settings = { jwks: { keys: keys.map((key) => ({ ...key, x5c: ['A'.repeat(10_000)], note: 'x' })) } };
  expect(resolveJwt(settings, jwtDefaults).keys).toEqual({ kind: 'jwks', keys });
});

it('equal settings share a verifier while it is used', () => {
  const verifiers = createJwtVerifiers(dependencies);
  const settings = { secret: 'x'.repeat(32) };
  const one = verifiers.verifierFor(resolveJwt(settings, jwtDefaults));
  expect(verifiers.verifierFor(resolveJwt({ ...settings }, jwtDefaults))).toBe(one);
  expect(verifiers.verifierFor(resolveJwt({ secret: 'y'.repeat(32) }, jwtDefaults))).not.toBe(one);
});
