/**
 * What of a description decides (its whole URL, the spelling of its path, its address), and the denials that no
 * record decides but the settings, which are explained with the level `global`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../../src/model/errors.ts';
import type { Explanation, FixAction, StageName } from '../../../src/explain/schema.ts';
import { explain, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, quietWindowSecs, roomInWindow, send } from '../../support/policies.ts';
import {
  createApp,
  createEndpoint,
  createRevision,
  createService,
  createVersion,
  echoed,
  request,
  type Fields,
} from '../../support/traffic.ts';

const PER_IP = 2;
const DEFAULT = 3;
const FAILURES = 2;
const BODY_BYTES_MAX = 10;
const WINDOW = quietWindowSecs();
const EXEMPT = { rate_limit: { enabled: false } };
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_RATE_LIMIT_REQUESTS: String(DEFAULT),
        GATEWAY_RATE_LIMIT_WINDOW_SECS: String(WINDOW),
        GATEWAY_PER_IP_RATE_LIMIT_ENABLED: 'true',
        GATEWAY_PER_IP_RATE_LIMIT_REQUESTS: String(PER_IP),
        GATEWAY_PER_IP_RATE_LIMIT_WINDOW_SECS: String(WINDOW),
        GATEWAY_PROXY__AUTH_FAILURES_PER_MINUTE: String(FAILURES),
        GATEWAY_PROXY__MAX_BODY_BYTES: String(BODY_BYTES_MAX),
        GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
      },
    }),
    startOrigin(),
  ]);
  await createService(gateway, 'open', origin.port, { app: { default_policy: EXEMPT } });
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const serve = (slug: string, policy: Fields = {}): Promise<void> =>
  createService(gateway, slug, origin.port, { app: { default_policy: policy } });

interface Described {
  /** A loopback address, which the real request comes from. */
  readonly from: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const sent = ({ from, path, ...parts }: Described) => send(gateway, path, parts, { localAddress: from });

const explained = ({ from, path, method = 'GET', headers = {}, body }: Described): Promise<Explanation> =>
  explain(gateway, {
    method,
    url: path,
    headers,
    client_ip: from,
    ...(body === undefined ? {} : { body_bytes: body.length }),
  });

async function statuses(count: number, described: Described): Promise<number[]> {
  const found: number[] = [];
  for (let index = 0; index < count; index++) found.push((await sent(described)).status);
  return found;
}

interface Expected {
  readonly code: ErrorCode;
  readonly stage: StageName;
  readonly action: FixAction;
}

/** Explains, sends, and compares; a wait that is the fix is the one that the client is told. */
async function denied(described: Described, { code, stage, action }: Expected): Promise<Explanation> {
  const explanation = await explained(described);
  const real = await sent(described);
  expect([explanation.outcome, explanation.code, explanation.response.status]).toEqual([
    'denied',
    code,
    real.status,
  ]);
  const { detail } = JSON.parse(real.body) as { readonly detail: string };
  expect(explanation.response.body).toMatchObject({ code, detail });
  expect(stageOf(explanation, stage)).toMatchObject({ verdict: 'denied', code, level: 'global' });
  expect(explanation.stages.filter(({ verdict }) => verdict === 'denied')).toHaveLength(1);
  expect(explanation.fix?.action).toBe(action);
  if (action === 'wait') {
    const told = Number(real.headers['retry-after']);
    expect(told).toBeGreaterThan(0);
    expect(Math.abs(told - Number(explanation.fix?.value))).toBeLessThanOrEqual(1);
  }
  return explanation;
}

describe('denials that the settings decide', () => {
  const limited = { code: 'rate_limited', action: 'wait' } as const;

  it('ip_rate_limit: the limit per address', async () => {
    await serve('addressed');
    const described = { from: '127.0.0.20', path: '/addressed/v1/x' };
    expect(await statuses(PER_IP, described)).toEqual([200, 200]);
    const explanation = await denied(described, { ...limited, stage: 'ip_rate_limit' });
    expect(stageOf(explanation, 'ip_rate_limit')).toMatchObject({
      source_id: null,
      value: { requests: PER_IP, window_seconds: WINDOW },
    });
    expect(stageOf(explanation, 'rate_limit')).toMatchObject({ verdict: 'skipped', level: 'global' });
    expect(explanation.limits).toMatchObject([
      { kind: 'policy', limit: DEFAULT, remaining: 0, admitted: true },
      { kind: 'ip', limit: PER_IP, remaining: 0, admitted: false, retry_after_secs: explanation.fix?.value },
    ]);
  });

  it('rate_limit: the default limit, of the app that has none', async () => {
    await serve('defaulted');
    const path = '/defaulted/v1/x';
    for (const from of ['127.0.0.21', '127.0.0.22', '127.0.0.23'])
      expect(await statuses(1, { from, path })).toEqual([200]);
    const explanation = await denied({ from: '127.0.0.24', path }, { ...limited, stage: 'rate_limit' });
    expect(stageOf(explanation, 'rate_limit')).toMatchObject({
      source_id: explanation.app?.id,
      value: { requests: DEFAULT, window_seconds: WINDOW },
    });
    expect(stageOf(explanation, 'ip_rate_limit')).toMatchObject({ verdict: 'passed', level: 'global' });
    expect(explanation.limits[0]).toMatchObject({
      kind: 'policy',
      counter: `global:${explanation.app?.id}`,
      limit: DEFAULT,
      remaining: 0,
      admitted: false,
    });
  });

  it('auth_guard: too many bad credentials from one address', async () => {
    await serve('guarded', { ...EXEMPT, auth: { auth_type: 'api_key' } });
    const described = { from: '127.0.0.25', path: '/guarded/v1/x', headers: bearer('hgk_nonsense') };
    // The guard counts by the minute of the clock.
    await roomInWindow(60_000, 10_000);
    expect((await explained(described)).code).toBe('credentials_invalid');
    expect(await statuses(FAILURES, described)).toEqual([401, 401]);
    const explanation = await denied(described, {
      code: 'too_many_auth_failures',
      stage: 'auth_guard',
      action: 'wait',
    });
    expect(stageOf(explanation, 'auth_guard').value).toEqual({ failures_per_minute: FAILURES });
    expect(stageOf(explanation, 'auth').verdict).toBe('skipped');
    expect(explanation.limits).toMatchObject([
      { kind: 'auth_guard', limit: FAILURES, remaining: 0, admitted: false },
    ]);
    const other = await explained({ ...described, from: '127.0.0.26' });
    expect([other.code, stageOf(other, 'auth_guard').verdict]).toEqual(['credentials_invalid', 'passed']);
  });

  it('max_body_bytes: the setting is what the fix names', async () => {
    const described = { from: '127.0.0.27', path: '/open/v1/x', method: 'POST', body: 'a'.repeat(11) };
    const explanation = await denied(described, {
      code: 'body_too_large',
      stage: 'max_body_bytes',
      action: 'shorten_request',
    });
    expect(stageOf(explanation, 'max_body_bytes').value).toBe(BODY_BYTES_MAX);
    expect(explanation.fix).toMatchObject({
      target: { type: 'setting', id: 'GATEWAY_PROXY__MAX_BODY_BYTES' },
      value: 11,
    });
    const shortened = { ...described, body: 'a'.repeat(BODY_BYTES_MAX) };
    expect((await explained(shortened)).outcome).toBe('forwarded');
    expect(await statuses(1, shortened)).toEqual([200]);
  });
});

describe('both limits refuse: the stage with the longer wait is the one that denied', () => {
  // A bucket of one, which has its next token after an hour or after most of a year; the address waits for hours.
  const once = (window_seconds: number): Fields => ({
    rate_limit: { enabled: true, algorithm: 'token_bucket', requests: 1, burst: 1, window_seconds },
  });
  const refusals = ({ limits }: Explanation) => limits.map(({ kind, admitted }) => [kind, admitted]);

  it.each([
    ['hourly', 3_600, 'ip_rate_limit', 'rate_limit', '127.0.0.30'],
    ['yearly', 31_622_400, 'rate_limit', 'ip_rate_limit', '127.0.0.31'],
  ] as const)('%s', async (slug, windowSecs, longer, shorter, from) => {
    await serve(slug, once(windowSecs));
    const described = { from, path: `/${slug}/v1/x` };
    expect(await statuses(1, described)).toEqual([200]);
    expect(await statuses(PER_IP - 1, { from, path: '/open/v1/x' })).toEqual([200]);
    const explanation = await explained(described);
    const real = await sent(described);
    expect([explanation.code, real.status]).toEqual(['rate_limited', 429]);
    expect(explanation.response.body).toMatchObject({ detail: JSON.parse(real.body).detail });
    expect(stageOf(explanation, longer).verdict).toBe('denied');
    // It has let nothing pass, although it is not what the answer is about.
    expect(stageOf(explanation, shorter).verdict).toBe('skipped');
    expect(refusals(explanation)).toEqual([
      ['policy', false],
      ['ip', false],
    ]);
    const waits = explanation.limits.map(({ retry_after_secs: secs }) => Number(secs));
    expect(explanation.fix?.value).toBe(Math.max(...waits));
    const recorded: Explanation = await gateway.must(
      'GET',
      `/explain/${String(real.headers['x-request-id'])}`,
    );
    expect([longer, shorter].map((stage) => stageOf(recorded, stage).verdict)).toEqual(['denied', 'skipped']);
  });
});

describe('whose address it is', () => {
  it('the limit per address is judged by client_ip, behind a trusted proxy by X-Forwarded-For', async () => {
    const used = { from: '127.0.0.40', path: '/open/v1/x' };
    expect(await statuses(PER_IP + 1, used)).toEqual([200, 200, 429]);
    const claim = { 'X-Forwarded-For': used.from };
    const cases: readonly (readonly [from: string, headers: Record<string, string>, client: string])[] = [
      [used.from, {}, used.from],
      ['127.0.0.41', {}, '127.0.0.41'],
      ['127.0.0.1', claim, used.from],
      // From any other address the field is only a claim.
      ['127.0.0.41', claim, '127.0.0.41'],
      [used.from, { 'X-Forwarded-For': '127.0.0.41' }, used.from],
    ];
    for (const [from, headers, client] of cases) {
      const explanation = await explained({ ...used, from, headers });
      const isUsed = client === used.from;
      expect([explanation.request.client_ip, explanation.outcome, explanation.code]).toEqual([
        client,
        ...(isUsed ? ['denied', 'rate_limited'] : ['forwarded', null]),
      ]);
      expect(explanation.limits).toMatchObject([{ kind: 'ip', limit: PER_IP, admitted: !isUsed }]);
    }
  });
});

describe('what is asked for', () => {
  it('a whole URL gives Host, path and query', async () => {
    const explanation = await explain(gateway, {
      method: 'GET',
      url: 'https://gateway.test/open/v1/x?q=1#part',
      client_ip: '127.0.0.50',
    });
    expect(explanation.request).toMatchObject({
      host: 'gateway.test',
      path: '/open/v1/x',
      query: '?q=1',
      headers: [{ name: 'Host', value: 'gateway.test' }],
    });
    expect(explanation.upstream?.url).toBe(`http://127.0.0.1:${origin.port}/x?q=1`);
    const forwardedHost = explanation.upstream?.headers.find(({ name }) => name === 'X-Forwarded-Host');
    expect(forwardedHost?.value).toBe('gateway.test');
    // A Host that is described, too, is the one that counts; a bare authority asks for the root.
    const root = await explain(gateway, {
      method: 'GET',
      url: 'http://gateway.test:8080?q=1',
      headers: { Host: 'other.test' },
    });
    expect(root.request).toMatchObject({ host: 'other.test', path: '/', query: '?q=1' });
  });

  it('the canonical path is shown, matched and forwarded', async () => {
    await createApp(gateway, 'spelt', { routing_mode: 'managed_endpoint', default_policy: EXEMPT });
    await createVersion(gateway, 'spelt');
    await createRevision(gateway, 'spelt', origin.port);
    await createEndpoint(gateway, 'spelt', 'GET', '/items/{id}');
    const target = '/%73pelt/v1/items/%37';
    const explanation = await explain(gateway, { method: 'GET', url: target, client_ip: '127.0.0.51' });
    expect(explanation).toMatchObject({
      outcome: 'forwarded',
      request: { path: '/spelt/v1/items/7' },
      endpoint: { path: '/spelt/v1/items/{id}', parameters: { id: '7' } },
      upstream: { url: `http://127.0.0.1:${origin.port}/items/7` },
    });
    const { detail } = stageOf(explanation, 'forward');
    expect(detail).toBe('Nothing was sent: whether the backend answers was not tried');
    expect(echoed(await request(gateway, target)).url).toBe('/items/7');
  });
});
