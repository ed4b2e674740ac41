/**
 * Nanoseconds of CPU time per evaluation of warm policies: what the policy chain adds to a request. Run alone:
 * `node bench/policy-micro.ts`. Compares against an empty policy in the same run.
 */
import { randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { systemClock } from '../src/lib/clock.ts';
import type { Policy } from '../src/policy/registry.ts';
import { createPolicyCompiler } from '../src/policy/compile-policy.ts';
import { evaluate, newEvaluation } from '../src/policy/evaluate.ts';
import { limitHeaderLines } from '../src/policy/parts/rate-limit/rate-limit.ts';
import { effective, testApp, testGateway } from '../src/policy/test-fixtures.ts';
import type { RequestFacts } from '../src/policy/stage.ts';

const ROUNDS = 2_000_000;
const SECRET = randomBytes(48).toString('base64url');
const gateway = testGateway();
const compiler = createPolicyCompiler({
  ...gateway.dependencies,
  clock: systemClock,
  onAuth: () => undefined,
  onLimit: () => undefined,
});
const { token: key } = gateway.keys.create();
const jwt = await new SignJWT({ sub: 'bench', scope: 'read', exp: 4_000_000_000 })
  .setProtectedHeader({ alg: 'HS256' })
  .sign(Buffer.from(SECRET));

const limit = { rate_limit: { enabled: true, requests: 1_000_000_000, window_seconds: 3600 } };
const cases: [name: string, policy: Policy, token: string][] = [
  ['nothing', {}, ''],
  ['API key', { auth: { auth_type: 'api_key' } }, key],
  ['API key, scope', { auth: { auth_type: 'api_key' }, required_scopes: ['read'] }, key],
  [
    'API key, scope, fixed window',
    { auth: { auth_type: 'api_key' }, required_scopes: ['read'], ...limit },
    key,
  ],
  [
    'JWT, scope, fixed window',
    { auth: { auth_type: 'jwt', jwt: { secret: SECRET } }, required_scopes: ['read'], ...limit },
    jwt,
  ],
];

for (const [name, policy, token] of cases) {
  const compiled = compiler(effective(policy), testApp());
  // As from the head of a request: a new string every time, whose hash is not known yet.
  const head = `GET / HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const facts: RequestFacts = {
    method: 'GET',
    path: '/billing/invoices',
    clientIp: '192.0.2.1',
    announcedBytes: -1,
    clientTls: undefined,
    ended: false,
    nowMs: systemClock.nowMs(),
    header: () => head.slice(31, head.length - 4),
    combined: () => undefined,
  };
  await evaluate(compiled, facts, newEvaluation());
  let denied = 0;
  let length = 0;
  const measure = (rounds: number): number => {
    const start = process.cpuUsage();
    for (let round = 0; round < rounds; round++) {
      const evaluation = newEvaluation();
      if (evaluate(compiled, facts, evaluation) !== undefined) denied++;
      length += limitHeaderLines(evaluation).length;
    }
    const used = process.cpuUsage(start);
    return ((used.user + used.system) * 1e3) / rounds;
  };
  measure(ROUNDS / 10);
  process.stdout.write(
    `${name.padEnd(32)} ${measure(ROUNDS).toFixed(0).padStart(6)} ns  (denied ${denied}, ${length})\n`,
  );
}
