/** The policy part `concurrency`: how many requests may be under way at once, and that every end of one gives back. */
import type * as http from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startHoldingOrigin, type HoldingOrigin } from '../../support/backends/holding-origin.ts';
import { jwkOf, KEYS, signed } from '../../support/data/jwts.ts';
import { startOrigin } from '../../support/backends/origin.ts';
import { bearer, createKey, createPolicies, metric, quietWindowSecs, send } from '../../support/policies.ts';
import { connectRaw, type RawClient, type RawResponse } from '../../support/clients/raw-client.ts';
import {
  createEndpoint,
  createService,
  problem,
  request,
  requestText,
  revisionPath,
  type Fields,
  type RequestParts,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

const FIRST_BYTE_TIMEOUT_MS = 1_500;
/** Discard: nothing listens there. */
const CLOSED_PORT = 9;

let gateway: TestGateway;
let origin: HoldingOrigin;
const clients: RawClient[] = [];

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({ env: { GATEWAY_WORKERS: '2', ...INSPECTABLE } }),
    startHoldingOrigin(),
  ]);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.end();
  origin.answerAll();
  origin.endTunnels();
  await until(() => origin.waiting === 0);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const cap = (max: number, per?: string): Fields => ({
  concurrency: { max, ...(per === undefined ? {} : { per }) },
});
const ANSWER = { 'X-Do': 'answer' };

/** Sends a request that the backend will hold. */
async function begin(target: string, parts: RequestParts = {}): Promise<RawClient> {
  const client = await connectRaw(gateway.proxyPort);
  clients.push(client);
  client.write(requestText(target, parts));
  return client;
}

/** Begins a request and waits until the backend has it. */
async function hold(target: string, parts: RequestParts = {}): Promise<RawClient> {
  const before = origin.come;
  const client = await begin(target, parts);
  await until(() => origin.come > before);
  return client;
}

/** Status of a request that the backend answers at once. */
async function probe(target: string, headers: Record<string, string> = {}): Promise<number> {
  return (await request(gateway, target, { headers: { ...ANSWER, ...headers } })).status;
}

/** The next status but 429: the place may be given back a moment after the client has noticed the end. */
function nextStatus(target: string): Promise<number> {
  return until(async () => {
    const status = await probe(target);
    return status === 429 ? undefined : status;
  });
}

describe('a cap', () => {
  it('admits `max` at once over all workers, and the rest is 429 concurrency_limited with Retry-After', async () => {
    const max = 10;
    await createService(gateway, 'exact', origin.port, { app: { default_policy: cap(max) } });
    const connections = await Promise.all(Array.from({ length: 60 }, () => begin('/exact/v1/x')));
    await until(() => origin.waiting === max);
    const answers: RawResponse[] = [];
    for (const client of connections) {
      // Those that are held to the end are cut off at the end of the test.
      void client.response({ timeoutMs: 30_000 }).then(
        (answer) => answers.push(answer),
        () => undefined,
      );
    }
    await until(() => answers.length === 50);
    for (const answer of answers) {
      expect(problem(answer)).toMatchObject({ status: 429, code: 'concurrency_limited', data: null });
      expect(answer.headers['retry-after']).toBe('1');
    }
    const workers = ['1', '2'].map((worker) =>
      metric(gateway, 'headgate_downstream_connections', { worker }),
    );
    expect(Math.min(...(await Promise.all(workers))), 'both workers have served').toBeGreaterThan(0);
    // One ends, one more comes in.
    origin.answerOne();
    await until(() => answers.length === 51);
    expect(answers[50]?.status).toBe(200);
    await hold('/exact/v1/x');
    expect(await probe('/exact/v1/x')).toBe(429);
    expect(await metric(gateway, 'headgate_rate_limit_decisions_total', { kind: 'concurrency' })).toBe(62);
  });

  it('never refuses requests that come one after the other', async () => {
    await createService(gateway, 'turns', origin.port, { app: { default_policy: cap(1) } });
    for (let turn = 0; turn < 100; turn++) expect(await probe('/turns/v1/x')).toBe(200);
    // Also when the answer is written in many pieces.
    for (let turn = 0; turn < 20; turn++) {
      expect(await probe('/turns/v1/x', { 'X-Do': 'answer at length' })).toBe(200);
    }
  });

  it('is obeyed by the next request when it is changed, and counts what is under way already', async () => {
    await createService(gateway, 'changed', origin.port, { app: { default_policy: cap(3) } });
    await hold('/changed/v1/x');
    await hold('/changed/v1/x');
    expect(await probe('/changed/v1/x')).toBe(200);
    await gateway.must('PATCH', '/apps/changed', { default_policy: cap(2) });
    expect(await probe('/changed/v1/x')).toBe(429);
    await gateway.must('PATCH', '/apps/changed', { default_policy: { concurrency: null } });
    expect(await probe('/changed/v1/x')).toBe(200);
    await gateway.must('PATCH', '/apps/changed', { default_policy: cap(2) });
    expect(await probe('/changed/v1/x')).toBe(429);
    origin.answerOne();
    expect(await nextStatus('/changed/v1/x')).toBe(200);
  });
});

describe('a place is given back when the exchange ends', () => {
  beforeAll(async () => {
    await createPolicies(gateway, 'ends', origin.port, [
      { path: '/one', policy: cap(1) },
      { path: '/small', policy: { ...cap(1), max_body_bytes: 4 } },
    ]);
    await createService(gateway, 'down', CLOSED_PORT, { app: { default_policy: cap(1) } });
  });

  it('because it was answered, on a connection that stays', async () => {
    const client = await hold('/ends/v1/one');
    expect(await probe('/ends/v1/one')).toBe(429);
    origin.answerAll();
    expect((await client.response()).status).toBe(200);
    expect(await probe('/ends/v1/one')).toBe(200);
    client.write(requestText('/ends/v1/one', { headers: ANSWER }));
    expect((await client.response()).status).toBe(200);
  });

  it('because the client has gone, or has ended its side', async () => {
    for (const end of ['resetAndDestroy', 'end'] as const) {
      const client = await hold('/ends/v1/one');
      client.socket[end]();
      expect(await nextStatus('/ends/v1/one')).toBe(200);
    }
  });

  it('because the client has gone in the middle of its body', async () => {
    const client = await connectRaw(gateway.proxyPort);
    const before = origin.come;
    client.write('POST /ends/v1/one HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome');
    await until(() => origin.come > before);
    expect(await probe('/ends/v1/one')).toBe(429);
    client.end();
    expect(await nextStatus('/ends/v1/one')).toBe(200);
  });

  it.each([
    ['reset', 502],
    ['truncate', 200],
  ])('because the backend failed: %s', async (deed, status) => {
    const client = await begin('/ends/v1/one', { headers: { 'X-Do': deed } });
    if (status === 502) expect((await client.response()).status).toBe(502);
    else await client.closed();
    expect(await nextStatus('/ends/v1/one')).toBe(200);
  });

  it('because there is no backend', async () => {
    for (let turn = 0; turn < 5; turn++) expect(await probe('/down/v1/x')).toBe(502);
  });

  it('because the gateway refuses the body', async () => {
    const big = { method: 'POST', headers: ANSWER, body: 'too large' };
    for (let turn = 0; turn < 3; turn++)
      expect((await request(gateway, '/ends/v1/small', big)).status).toBe(413);
    const client = await connectRaw(gateway.proxyPort);
    client.write('POST /ends/v1/small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    client.write('3\r\nabc\r\n0\r\n\r\n');
    expect((await client.response()).status).toBe(413);
    client.end();
    expect(await nextStatus('/ends/v1/small')).toBe(200);
  });

  it('because an upgraded connection has ended, and not before', async () => {
    const upgrade = { headers: { Connection: 'Upgrade', Upgrade: 'held' } };
    for (const end of [(client: RawClient) => client.end(), () => origin.endTunnels()]) {
      const client = await hold('/ends/v1/one', upgrade);
      await until(() => client.received().includes(' 101 '));
      expect(await probe('/ends/v1/one')).toBe(429);
      end(client);
      expect(await nextStatus('/ends/v1/one')).toBe(200);
    }
  });

  it('because the client has gone while its token was looked into', async () => {
    const waiting: http.ServerResponse[] = [];
    const provider = await startOrigin((_incoming, response) => void waiting.push(response));
    const jwks_uri = `http://127.0.0.1:${provider.port}/jwks.json`;
    const policy = { auth: { auth_type: 'jwt', jwt: { jwks_uri } }, ...cap(1, 'ip') };
    await createPolicies(gateway, 'late', origin.port, [{ path: '/x', policy }]);
    const key = { alg: 'ES256', key: KEYS.ec.privateKey, header: { kid: 'ec' } };
    const headers = bearer(await signed({ sub: 'ann' }, key));
    // On each worker, some that go and one that stays: it is answered last, after all that was evaluated.
    const gone = await Promise.all(Array.from({ length: 8 }, () => begin('/late/v1/x', { headers })));
    await until(() => waiting.length > 0);
    for (const client of gone) client.socket.resetAndDestroy();
    // Of those whose request had been read; the others took no place.
    await until(() => gateway.logs().some(({ status }) => status === 499));
    // One whose end is noticed only after its token has been found good has a place for that moment.
    await until(async () => (await metric(gateway, 'headgate_downstream_connections', {})) === 0);
    const keys = JSON.stringify({ keys: [await jwkOf('ec')] });
    const answering = setInterval(() => {
      for (const response of waiting.splice(0)) response.end(keys);
    }, 20);
    for (let turn = 0; turn < 20; turn++) expect(await probe('/late/v1/x', headers)).toBe(200);
    clearInterval(answering);
    await provider.close();
  });

  it('because its worker has died', async () => {
    const max = 20;
    await createService(gateway, 'deaths', origin.port, { app: { default_policy: cap(max) } });
    const held = await Promise.all(Array.from({ length: max }, () => begin('/deaths/v1/x')));
    await until(() => origin.waiting === max);
    expect(await probe('/deaths/v1/x')).toBe(429);
    let lost = 0;
    for (const client of held) client.socket.once('end', () => lost++);
    await crashWorkers(gateway, (title) => title.endsWith('proxy-1'));
    expect(await nextStatus('/deaths/v1/x')).toBe(200);
    // The sockets of a thread are closed before its end is reported.
    await until(() => lost > 0);
    // Of the places all that the dead worker held, and none of the other's.
    await until(() => origin.waiting === max - lost);
    const again = await Promise.all(Array.from({ length: 2 * max }, () => begin('/deaths/v1/x')));
    const refused = (): number => again.filter((client) => client.received().includes(' 429 ')).length;
    await until(() => refused() === 2 * max - lost);
    await until(() => origin.waiting === max);
  });
});

describe('time-outs', () => {
  it('of the backend give the place back', async () => {
    const impatient = await startGateway({
      env: { GATEWAY_PROXY__FIRST_BYTE_TIMEOUT_MS: String(FIRST_BYTE_TIMEOUT_MS) },
    });
    try {
      await createService(impatient, 'slow', origin.port, { app: { default_policy: cap(1) } });
      expect((await request(impatient, '/slow/v1/x')).status).toBe(504);
      expect((await request(impatient, '/slow/v1/x', { headers: ANSWER })).status).toBe(200);
    } finally {
      await impatient.stop();
    }
  });
});

describe('per', () => {
  it('scope is everybody, api_key each key, ip each address, header each value', async () => {
    const optional = { auth: { auth_type: 'api_key', required: false } };
    await createPolicies(gateway, 'per', origin.port, [
      { path: '/scope', policy: cap(1, 'scope') },
      { path: '/key', policy: { ...optional, ...cap(1, 'api_key') } },
      { path: '/ip', policy: cap(1, 'ip') },
      { path: '/header', policy: cap(1, 'header:X-Tenant') },
    ]);
    const [first, second] = [await createKey(gateway, 'per'), await createKey(gateway, 'per')];

    await hold('/per/v1/scope');
    const elsewhere = { localAddress: '127.0.0.2' };
    expect((await send(gateway, '/per/v1/scope', { headers: ANSWER }, elsewhere)).status).toBe(429);

    await hold('/per/v1/key', { headers: bearer(first.token) });
    expect(await probe('/per/v1/key', bearer(first.token))).toBe(429);
    expect(await probe('/per/v1/key', bearer(second.token))).toBe(200);
    expect(await probe('/per/v1/key')).toBe(200);

    await hold('/per/v1/ip');
    expect(await probe('/per/v1/ip')).toBe(429);
    expect((await send(gateway, '/per/v1/ip', { headers: ANSWER }, elsewhere)).status).toBe(200);

    await hold('/per/v1/header', { headers: { 'X-Tenant': 'a' } });
    expect(await probe('/per/v1/header', { 'x-tenant': 'a' })).toBe(429);
    expect(await probe('/per/v1/header', { 'x-tenant': 'b' })).toBe(200);
    expect(await probe('/per/v1/header')).toBe(200);
  });
});

describe('levels', () => {
  it('the most specific wins, counts by itself, and 0 switches off', async () => {
    await createService(gateway, 'levels', origin.port, { app: { default_policy: cap(1) } });
    await createEndpoint(gateway, 'levels', '*', '/own', { policy_override: cap(2) });
    await createEndpoint(gateway, 'levels', '*', '/free', { policy_override: cap(0) });
    await hold('/levels/v1/x');
    expect(await probe('/levels/v1/y')).toBe(429);
    expect(await probe('/levels/v1/own')).toBe(200);
    await hold('/levels/v1/own');
    await hold('/levels/v1/own');
    expect(await probe('/levels/v1/own')).toBe(429);
    for (let count = 0; count < 3; count++) await hold('/levels/v1/free');
    expect(await probe('/levels/v1/free')).toBe(200);
    const effective = await gateway.must('GET', `${revisionPath('levels')}/effective-policy`);
    expect(effective).toMatchObject({
      policy: { concurrency: { max: 1 } },
      sources: { concurrency: { level: 'app' } },
    });
  });

  it.each([
    [{ max: -1 }, '/concurrency/max'],
    [{ max: 1.5 }, '/concurrency/max'],
    [{ max: 1_000_001 }, '/concurrency/max'],
    [{}, '/concurrency'],
    [{ max: 1, per: 'cookie:x' }, '/concurrency/per'],
    [{ max: 1, burst: 2 }, '/concurrency'],
  ])('%j is 422 and names the field', async (concurrency, pointer) => {
    const record = { name: 'L', slug: 'levels', gateway_path: '/levels' };
    const replaced = { ...record, default_policy: { concurrency } };
    const { status, body } = await gateway.api('PUT', '/apps/levels', replaced);
    expect(status).toBe(422);
    expect(body.errors[0].pointer).toContain(`/default_policy${pointer}`);
  });

  it('a claim needs auth_type "jwt"', async () => {
    const default_policy = { auth: { auth_type: 'api_key' }, ...cap(1, 'claim:sub') };
    const { status, body } = await gateway.api('PATCH', '/apps/levels', { default_policy });
    expect(status).toBe(422);
    expect(body.errors[0].pointer).toBe('/default_policy/concurrency/per');
  });
});

describe('with a rate limit', () => {
  it('a request over the cap is charged to no limit, and one over the limit holds no place', async () => {
    const rate_limit = { enabled: true, requests: 3, window_seconds: quietWindowSecs() };
    await createPolicies(gateway, 'both', origin.port, [{ path: '/x', policy: { ...cap(1), rate_limit } }]);
    const first = await hold('/both/v1/x');
    for (let count = 0; count < 5; count++) {
      const refused = await request(gateway, '/both/v1/x');
      expect(problem(refused).code).toBe('concurrency_limited');
      expect(refused.headers).not.toHaveProperty('ratelimit');
    }
    origin.answerAll();
    // Not when the backend has sent it: its place is free when the answer is out.
    expect((await first.response()).status).toBe(200);
    const answer = await request(gateway, '/both/v1/x', { headers: ANSWER });
    expect(answer.headers['x-ratelimit-remaining']).toBe('1');
    expect(await probe('/both/v1/x')).toBe(200);
    for (let count = 0; count < 5; count++) {
      expect(problem(await request(gateway, '/both/v1/x')).code).toBe('rate_limited');
    }
    await gateway.must('PATCH', '/apps/both', { default_policy: null });
  });
});

describe('shadow', () => {
  it('lets requests over the cap pass, counts them and takes no place for them', async () => {
    await createPolicies(gateway, 'dark', origin.port, [
      { path: '/x', policy: { ...cap(1), shadow: ['concurrency'] } },
    ]);
    const would = () => metric(gateway, 'headgate_shadow_denials_total', { part: 'concurrency' });
    const before = await would();
    await hold('/dark/v1/x');
    const second = await hold('/dark/v1/x');
    expect(await would()).toBe(before);
    origin.answerAll();
    expect((await second.response()).status).toBe(200);
    expect(await would()).toBe(before + 1);
    expect(await probe('/dark/v1/x')).toBe(200);
    expect(await would()).toBe(before + 1);
  });
});
