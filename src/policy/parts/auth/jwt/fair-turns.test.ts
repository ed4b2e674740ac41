/** Verifying the tokens of one client does not delay those of others, nor of other apps, however much they cost. */
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

function costlyKey(): { kty: string; kid: string; n: string; e: string } {
  const modulus = randomBytes(KEY_BYTES);
  modulus[0] = 0xc0;
  modulus[KEY_BYTES - 1] = 1;
  return { kty: 'RSA', kid: 'costly', n: base64url(modulus), e: 'AQAB' };
}

function forgedToken(index: number): string {
  const signature = randomBytes(KEY_BYTES);
  signature[0] = 0;
  return `${b64({ alg: 'RS512', kid: 'costly' })}.${b64({ sub: `eve-${index}` })}.${base64url(signature)}`;
}

const realToken = (): Promise<string> =>
  sign({ sub: 'ann' }, { alg: 'RS256', key: rsa.privateKey, header: { kid: 'rsa-1' } });

describe('tokens that are costly to verify', () => {
  it('do not delay those of another app', async () => {
    const gateway = testGateway();
    const costly = gateway.compile(jwtPolicy({ jwks: { keys: [costlyKey()] } }));
    const other = gateway.compile(jwtPolicy({ jwks }), undefined, testApp('orders'));
    const token = await realToken();
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

  it.each([
    ['', '192.0.2.66', '192.0.2.1'],
    [', whose IPv6 clients are told apart by their networks', '2001:db8:0:66::', '2001:db8:0:1::1'],
  ])('do not delay those of other addresses%s', async (_, from, honestIp) => {
    const gateway = testGateway();
    const policy = gateway.compile(jwtPolicy({ jwks: { keys: [costlyKey(), ...jwks.keys] } }));
    const token = await realToken();
    let answered = 0;
    const forged = Array.from({ length: FORGED }, async (__, index) => {
      const clientIp = from.endsWith('::') ? `${from}${index + 1}` : from;
      const facts = testFacts(bearer(forgedToken(index)), { clientIp });
      const denial = await evaluate(policy, facts, newEvaluation());
      answered++;
      return denial?.kind.code;
    });
    const facts = testFacts(bearer(token), { clientIp: honestIp });
    expect(await evaluate(policy, facts, newEvaluation())).toBeUndefined();
    expect(answered).toBeLessThan(BEFORE_MAX);
    expect(new Set(await Promise.all(forged))).toEqual(new Set(['credentials_invalid']));
  });
});

describe('turns', () => {
  const never = (): boolean => false;
  const of = (appId: string, client = 'c'): Turn => ({ appId, client: () => client, isOver: never });
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

  it('go round the clients that wait within each app', async () => {
    const turns = new FairTurns(1);
    const order: string[] = [];
    const first = held();
    const running = turns.run(of('a'), () => first.promise);
    const waiting = ['a-x1', 'a-x2', 'a-x3', 'a-y1', 'b-x1', 'a-z1', 'b-x2', 'a-y2'].map((name) =>
      turns.run(of(name.slice(0, 1), name.slice(2, 3)), async () => order.push(name)),
    );
    first.resolve();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual(['a-x1', 'b-x1', 'a-y1', 'b-x2', 'a-z1', 'a-x2', 'a-y2', 'a-x3']);
  });

  it('of a client that comes again are behind those that waited before', async () => {
    const turns = new FairTurns(1);
    const order: string[] = [];
    const task = (client: string, then?: () => void) =>
      turns.run(of('a', client), async () => {
        order.push(client);
        then?.();
      });
    const first = held();
    const running = turns.run(of('a'), () => first.promise);
    const again: Promise<unknown>[] = [];
    const waiting = [task('x', () => again.push(task('x'), task('x'))), task('y'), task('z')];
    first.resolve();
    await Promise.all([running, ...waiting]);
    await Promise.all(again);
    expect(order).toEqual(['x', 'y', 'z', 'x', 'x']);
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
    const waiting = turns.run({ ...of('a'), isOver: () => ended }, async () => (ran = true));
    ended = true;
    first.resolve();
    await running;
    expect(await waiting).toBeUndefined();
    expect(ran).toBe(false);
  });
});
