import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { tokenHash } from '../../../model/token.ts';
import { bearer, run, testFacts, testGateway } from '../../test-fixtures.ts';

const PLACED: Policy = { auth: { auth_type: 'api_key', in: 'X-API-Key' } };
const DEFAULT: Policy = { auth: { auth_type: 'api_key' } };

describe('an imported key', () => {
  const imported = (chars: number): string => randomBytes(chars).toString('base64url').slice(0, chars);

  it.each([22, 53, 64, 200])('of %i characters is known until its key is deleted', async (chars) => {
    const gateway = testGateway();
    const { keys } = gateway;
    const token = imported(chars);
    const { key } = keys.create({ token_hash: tokenHash(token) });
    const policies = [gateway.compile(DEFAULT), gateway.compile(PLACED)];
    const statuses = async (): Promise<(string | undefined)[]> => {
      const verdicts = [bearer(token), { 'x-api-key': token }].map((headers, at) =>
        run(policies[at] as (typeof policies)[number], testFacts(headers)),
      );
      return (await Promise.all(verdicts)).map(({ denial }) => denial?.detail);
    };
    for (let round = 0; round < 3; round++) expect(await statuses()).toEqual([undefined, undefined]);
    keys.remove(key);
    expect(await statuses()).toEqual(['The API key is not known', 'The API key is not known']);
  });

  it('differs from others in every character', async () => {
    const gateway = testGateway();
    const { keys } = gateway;
    const token = imported(60);
    keys.create({ token_hash: tokenHash(token) });
    const policy = gateway.compile(DEFAULT);
    for (const other of [token.slice(0, -1), `${token}A`, token.slice(1), token.slice(0, 53), imported(60)]) {
      expect((await run(policy, testFacts(bearer(other)))).denial?.detail).toBe('The API key is not known');
    }
    expect((await run(policy, testFacts(bearer(token)))).denial).toBeUndefined();
  });

  it('its stored hash is not a credential, whole or in part', async () => {
    const gateway = testGateway();
    const { keys } = gateway;
    const hash = tokenHash(imported(40));
    keys.create({ token_hash: hash });
    const policy = gateway.compile(DEFAULT);
    for (const token of [hash, hash.slice(0, 53)]) {
      expect((await run(policy, testFacts(bearer(token)))).denial?.code).toBe('credentials_invalid');
    }
  });

  it('does not look up text that is too long or too short', async () => {
    const gateway = testGateway();
    const { keys } = gateway;
    const policy = gateway.compile(DEFAULT);
    for (const token of [imported(21), imported(201), `hga_${imported(49)}`, 'x'.repeat(60_000)]) {
      const { denial } = await run(policy, testFacts(bearer(token)));
      expect(denial?.detail).toBe(
        'The API key is malformed: it was mistyped or cut off, or is something else',
      );
    }
    expect(keys.lookups).toBe(0);
  });

  it('is not forwarded to the backend if it is known and refused', async () => {
    const gateway = testGateway();
    const { keys } = gateway;
    const [disabled, unknown] = [imported(32), imported(32)];
    keys.create({ token_hash: tokenHash(disabled), is_active: false });
    const optional = gateway.compile({ auth: { auth_type: 'api_key', required: false } });
    expect((await run(optional, testFacts(bearer(disabled)))).evaluation.dropCredential).toBe(true);
    expect((await run(optional, testFacts(bearer(unknown)))).evaluation.dropCredential).toBe(false);
  });
});
