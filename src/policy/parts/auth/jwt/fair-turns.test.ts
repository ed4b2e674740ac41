/** Verifying the tokens of one app does not delay those of others, however much they cost. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { evaluate, newEvaluation } from '../../../evaluate.ts';
import { bearer, testApp, testFacts, testGateway } from '../../../test-fixtures.ts';
import { b64, jwks, jwtPolicy, rsa, sign } from '../../../test-jwts.ts';
import { FairTurns, type Turn } from './fair-turns.ts';

const FORGED = 200;
/** A signature of such a key takes some ten times as long to verify as one of 2048 bits. */
const KEY_BYTES = 1024;
/** Far more than what runs when the token of the other app arrives. */
const BEFORE_MAX = 8;

const base64url = (bytes: Buffer): string => bytes.toString('base64url');

function costlyKey(): { kty: string; n: string; e: string } {
  const modulus = randomBytes(KEY_BYTES);
  modulus[0] = 0xc0;
  modulus[KEY_BYTES - 1] = 1;
  return { kty: 'RSA', n: base64url(modulus), e: 'AQAB' };
}

function forgedToken(index: number): string {
  const signature = randomBytes(KEY_BYTES);
  signature[0] = 0;
  return `${b64({ alg: 'RS512' })}.${b64({ sub: `eve-${index}` })}.${base64url(signature)}`;
}

describe('tokens that are costly to verify', () => {
  it('do not delay those of another app', async () => {
    const gateway = testGateway();
    const costly = gateway.compile(jwtPolicy({ jwks: { keys: [costlyKey()] } }));
    const other = gateway.compile(jwtPolicy({ jwks }), undefined, testApp('orders'));
    const token = await sign({ sub: 'ann' }, { alg: 'RS256', key: rsa.privateKey, header: { kid: 'rsa-1' } });
    let answered = 0;
    const forged = Array.from({ length: FORGED }, async (_, index) => {
      const denial = await evaluate(costly, testFacts(bearer(forgedToken(index))), newEvaluation());
      answered++;
      return denial?.kind.code;
    });
    expect(await evaluate(other, testFacts(bearer(token)), newEvaluation())).toBeUndefined();
    expect(answered).toBeLessThan(BEFORE_MAX);
    expect(new Set(await Promise.all(forged))).toEqual(new Set(['credentials_invalid']));
  });
});

describe('turns', () => {
  const never = (): boolean => false;
  const of = (appId: string): Turn => ({ appId, isOver: never });
  const held = (): { readonly promise: Promise<void>; readonly resolve: () => void } =>
    Promise.withResolvers();

  it('go round the apps that wait, in order of arrival within each', async () => {
    const turns = new FairTurns(1);
    const order: string[] = [];
    const first = held();
    const running = turns.run(of('a'), () => first.promise);
    const waiting = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) =>
      turns.run(of(name.slice(0, 1)), async () => order.push(name)),
    );
    first.resolve();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('so many tasks run at once, also after one has failed', async () => {
    const turns = new FairTurns(2);
    let running = 0;
    let most = 0;
    const task = async (): Promise<void> => {
      most = Math.max(most, ++running);
      await new Promise((done) => setImmediate(done));
      running--;
      throw new Error('failed');
    };
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => turns.run(of('a'), task)));
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
    expect(most).toBe(2);
  });

  it('a task for a request that has ended does not run', async () => {
    const turns = new FairTurns(1);
    const first = held();
    const running = turns.run(of('a'), () => first.promise);
    let ended = false;
    let ran = false;
    const waiting = turns.run({ appId: 'a', isOver: () => ended }, async () => (ran = true));
    ended = true;
    first.resolve();
    await running;
    expect(await waiting).toBeUndefined();
    expect(ran).toBe(false);
  });
});
