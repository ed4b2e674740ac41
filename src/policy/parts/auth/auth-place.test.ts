import { describe, expect, it } from 'vitest';
import type { Policy } from '../../registry.ts';
import { bearer, run, testFacts, testGateway } from '../../test-fixtures.ts';

const PLACED: Policy = { auth: { auth_type: 'api_key', in: 'X-API-Key' } };
const DEFAULT: Policy = { auth: { auth_type: 'api_key' } };

describe('the place of a credential', () => {
  it('is the only field that is read: each place accepts the same key', async () => {
    const gateway = testGateway();
    const { keys, outcomes } = gateway;
    const { token, key } = keys.create();
    const placed = gateway.compile(PLACED);
    const usual = gateway.compile(DEFAULT);
    for (let round = 0; round < 3; round++) {
      const inPlace = await run(placed, testFacts({ 'x-api-key': token }));
      expect([inPlace.denial, inPlace.evaluation.caller.id]).toEqual([undefined, key.id]);
      expect(inPlace.evaluation.dropCredential).toBe(true);
      const elsewhere = await run(placed, testFacts(bearer(token)));
      expect(elsewhere.denial?.headerLines).toBe(
        'WWW-Authenticate: ApiKey realm="billing", header="X-API-Key"\r\n',
      );
      expect((await run(usual, testFacts(bearer(token)))).evaluation.caller.id).toBe(key.id);
      expect((await run(usual, testFacts({ 'x-api-key': token }))).denial?.code).toBe('credentials_missing');
    }
    expect(outcomes).toEqual(
      Array.from({ length: 3 }, () => ['api_key', 'missing', 'api_key', 'missing']).flat(),
    );
  });

  it.each([
    ['Authorization is named', 'authorization'],
    ['nothing is authenticated', 'X-API-Key'],
  ])('is Authorization if %s', (_name, name) => {
    const auth_type = name === 'authorization' ? 'api_key' : 'none';
    expect(testGateway().compile({ auth: { auth_type, in: name } }).credentialPlace).toBeUndefined();
  });

  it("a refused credential counts as the gateway's and is not forwarded", async () => {
    const gateway = testGateway();
    const optional = gateway.compile({ auth: { auth_type: 'api_key', in: 'X-API-Key', required: false } });
    const { denial, evaluation } = await run(optional, testFacts({ 'x-api-key': 'anything' }));
    expect([denial, evaluation.dropCredential]).toEqual([undefined, true]);
    expect(evaluation.authFailure?.kind.code).toBe('credentials_invalid');
  });
});
