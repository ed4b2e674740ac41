/** The circuit breaker: opening, holding back, probing, trials, and its state in the management API. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type * as http from 'node:http';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startHoldingOrigin } from '../../support/backends/holding-origin.ts';
import { freePort } from '../../support/backends/origin-process.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import {
  createRevision,
  createService,
  echoed,
  problem,
  request,
  requestText,
  revisionPath,
  type Served,
} from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const breakerOf = (slug: string, revision = 'r1'): Promise<Served> =>
  gateway.must('GET', `${revisionPath(slug, 'v1', revision)}/breaker`);

async function statuses(target: string, count: number): Promise<number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index++) all.push((await request(gateway, target)).status);
  return all;
}

interface Moody extends Origin {
  failing: 'no' | 'reset' | '500' | '501' | '505';
  healthChecks: number;
}

/** A backend that a test can switch between failing and working. */
async function moodyOrigin(): Promise<Moody> {
  const answer = (incoming: http.IncomingMessage, response: http.ServerResponse): void => {
    if (incoming.url === '/healthz') moody.healthChecks += 1;
    if (moody.failing === 'reset') return void response.socket?.destroy();
    response.statusCode = moody.failing === 'no' ? 200 : Number(moody.failing);
    response.end('moody');
  };
  const moody: Moody = { ...(await startOrigin(answer)), failing: 'no', healthChecks: 0 };
  return moody;
}

describe('opening', () => {
  it('closed at first, and open after as many consecutive failures as it takes', async () => {
    await createService(gateway, 'opening', await freePort(), {
      revision: { circuit_breaker: { failures: 3, open_secs: 3600 } },
    });
    expect(await breakerOf('opening')).toMatchObject({
      state: 'closed',
      consecutive_failures: 0,
      openings: 0,
    });
    expect(await statuses('/opening/v1/x', 2)).toEqual([502, 502]);
    expect(await breakerOf('opening')).toMatchObject({ state: 'closed', consecutive_failures: 2 });
    expect(await statuses('/opening/v1/x', 1)).toEqual([502]);
    expect(await breakerOf('opening')).toMatchObject({ state: 'open', openings: 1 });
  });

  it('while open 503 with Retry-After, on all workers, and the backend is left alone', async () => {
    const responses = await Promise.all(Array.from({ length: 16 }, () => request(gateway, '/opening/v1/x')));
    for (const response of responses) {
      expect(problem(response)).toMatchObject({ status: 503, code: 'circuit_open' });
      expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(3600);
    }
  });

  it('the default opens after 5 failures', async () => {
    await createService(gateway, 'byfive', await freePort());
    expect(await statuses('/byfive/v1/x', 6)).toEqual([502, 502, 502, 502, 502, 503]);
  });

  it('a success in between starts the count again', async () => {
    const moody = await moodyOrigin();
    await createService(gateway, 'between', moody.port, { revision: { circuit_breaker: { failures: 2 } } });
    for (let round = 0; round < 3; round++) {
      moody.failing = 'reset';
      expect(await statuses('/between/v1/x', 1)).toEqual([502]);
      moody.failing = 'no';
      expect(await statuses('/between/v1/x', 1)).toEqual([200]);
    }
    expect((await breakerOf('between')).state).toBe('closed');
    await moody.close();
  });

  it('responses that break off, one after the other, open it', async () => {
    const broken = await startHoldingOrigin();
    await createService(gateway, 'broken', broken.port, { revision: { circuit_breaker: { failures: 3 } } });
    const ask = (what: string) =>
      request(gateway, '/broken/v1/x', { headers: { 'X-Do': what } }).then(
        ({ status }) => status,
        () => 'cut',
      );
    expect([await ask('truncate'), await ask('truncate')]).toEqual(['cut', 'cut']);
    expect(await breakerOf('broken')).toMatchObject({ state: 'closed', consecutive_failures: 2 });
    // A whole one starts the count again.
    expect(await ask('answer')).toBe(200);
    expect([await ask('truncate'), await ask('truncate'), await ask('truncate')]).toEqual([
      'cut',
      'cut',
      'cut',
    ]);
    expect(await breakerOf('broken')).toMatchObject({ state: 'open', openings: 1 });
    expect(await ask('answer')).toBe(503);
    await broken.close();
  });

  it('a stream that has been coming for a while starts the count again before it breaks off', async () => {
    const streaming = await startOrigin((incoming, response) => {
      if (incoming.url !== '/stream') return void response.socket?.destroy();
      let pieces = 0;
      const timer = setInterval(() => {
        if (++pieces < 32) response.write('a piece');
        else response.socket?.destroy();
      }, 50);
      response.on('close', () => clearInterval(timer));
    });
    await createService(gateway, 'stream', streaming.port);
    expect(await statuses('/stream/v1/x', 2)).toEqual([502, 502]);
    await expect(request(gateway, '/stream/v1/stream')).rejects.toThrow('Closed');
    expect(await breakerOf('stream')).toMatchObject({ state: 'closed', consecutive_failures: 1 });
    await streaming.close();
  });

  it('5xx answers count only with count_5xx', async () => {
    const moody = await moodyOrigin();
    moody.failing = '500';
    await createService(gateway, 'errors', moody.port, { revision: { circuit_breaker: { failures: 2 } } });
    expect(await statuses('/errors/v1/x', 4)).toEqual([500, 500, 500, 500]);
    await gateway.must('PATCH', revisionPath('errors'), {
      circuit_breaker: { count_5xx: true, open_secs: 3600 },
    });
    for (const failing of ['501', '505'] as const) {
      moody.failing = failing;
      expect(await statuses('/errors/v1/x', 3)).toEqual([failing, failing, failing].map(Number));
    }
    moody.failing = '500';
    expect(await statuses('/errors/v1/x', 3)).toEqual([500, 500, 503]);
    await moody.close();
  });

  it('callers that policy refuses do not learn of an open breaker', async () => {
    await gateway.must('PATCH', '/apps/opening', { default_policy: { auth: { auth_type: 'api_key' } } });
    expect((await request(gateway, '/opening/v1/x')).status).toBe(401);
    await gateway.must('PATCH', '/apps/opening', { default_policy: null });
    expect((await request(gateway, '/opening/v1/x')).status).toBe(503);
  });
});

describe('closing', () => {
  it('without health_check_path one trial after open_secs; its success closes', async () => {
    const moody = await moodyOrigin();
    moody.failing = 'reset';
    await createService(gateway, 'trial', moody.port, {
      revision: { circuit_breaker: { failures: 1, open_secs: 1 } },
    });
    expect(await statuses('/trial/v1/x', 1)).toEqual([502]);
    // A failed trial opens it again.
    await until(async () => (await request(gateway, '/trial/v1/x')).status === 502);
    expect(await breakerOf('trial')).toMatchObject({ state: 'open', openings: 2 });
    const before = moody.seen.length;
    moody.failing = 'no';
    await until(async () => (await request(gateway, '/trial/v1/x')).status === 200);
    expect(moody.seen).toHaveLength(before + 1);
    expect(await breakerOf('trial')).toMatchObject({ state: 'closed', consecutive_failures: 0, since_ms: 0 });
    expect(await statuses('/trial/v1/x', 3)).toEqual([200, 200, 200]);
    await moody.close();
  });

  it('exactly one request is the trial, however many arrive at once on all workers', async () => {
    let release = (): void => undefined;
    let holding = false;
    const held = await startOrigin((incoming, response) => {
      if (!holding) return void incoming.socket.destroy();
      release = () => response.end('held');
    });
    await createService(gateway, 'onetrial', held.port, {
      revision: { circuit_breaker: { failures: 1, open_secs: 1 } },
    });
    expect(await statuses('/onetrial/v1/x', 1)).toEqual([502]);
    holding = true;
    const before = held.seen.length;
    await until(async () => (await breakerOf('onetrial')).since_ms > 1_000);
    const all = Array.from({ length: 12 }, () => request(gateway, '/onetrial/v1/x'));
    let refused = 0;
    for (const each of all) void each.then(({ status }) => (refused += status === 503 ? 1 : 0));
    await until(() => refused === 11);
    expect((await breakerOf('onetrial')).state).toBe('half_open');
    release();
    const codes = (await Promise.all(all)).map(({ status }) => status);
    expect(codes.filter((status) => status === 200)).toHaveLength(1);
    expect(held.seen).toHaveLength(before + 1);
    expect((await breakerOf('onetrial')).state).toBe('closed');
    await held.close();
  });

  it('a trial whose client goes away says nothing, and the next request is the trial', async () => {
    let holding = false;
    const held = await startOrigin((incoming, response) => {
      if (!holding) return void incoming.socket.destroy();
      if (incoming.url === '/x') response.end('well');
    });
    await createService(gateway, 'lost', held.port, {
      revision: { circuit_breaker: { failures: 1, open_secs: 1 } },
    });
    expect(await statuses('/lost/v1/x', 1)).toEqual([502]);
    holding = true;
    await until(async () => (await breakerOf('lost')).since_ms > 1_000);
    const impatient = await connectRaw(gateway.proxyPort);
    impatient.write(requestText('/lost/v1/never-answered'));
    await until(async () => (await breakerOf('lost')).state === 'half_open');
    impatient.socket.resetAndDestroy();
    await until(async () => (await breakerOf('lost')).state === 'open');
    expect(await statuses('/lost/v1/x', 2)).toEqual([200, 200]);
    expect((await breakerOf('lost')).state).toBe('closed');
    await held.close();
  });

  it('spec 2: health_check_path is probed while it is open, and a success closes it', async () => {
    const moody = await moodyOrigin();
    moody.failing = 'reset';
    await createService(gateway, 'probed', moody.port, {
      revision: { health_check_path: '/healthz', circuit_breaker: { failures: 1, open_secs: 1 } },
    });
    expect(await statuses('/probed/v1/x', 2)).toEqual([502, 503]);
    // Probed more than once, and longer than open_secs: requests are not used as trials.
    await until(() => moody.healthChecks >= 3);
    expect(await statuses('/probed/v1/x', 2)).toEqual([503, 503]);
    moody.failing = 'no';
    await until(async () => (await breakerOf('probed')).state === 'closed');
    expect(await statuses('/probed/v1/x', 2)).toEqual([200, 200]);
    // The first one came twice: a GET whose connection is lost is tried once more.
    expect(moody.seen.filter(({ url }) => url === '/x')).toHaveLength(4);
    await moody.close();
  });

  it('a backend that was moved to a place that works is used at once', async () => {
    await createService(gateway, 'moved', await freePort(), {
      revision: { circuit_breaker: { failures: 1, open_secs: 3600 } },
    });
    expect(await statuses('/moved/v1/x', 2)).toEqual([502, 503]);
    await gateway.must('PATCH', revisionPath('moved'), { backend_port: origin.port });
    expect(await statuses('/moved/v1/x', 2)).toEqual([200, 200]);
    expect((await breakerOf('moved')).state).toBe('closed');
  });
});

describe('several revisions', () => {
  it('a revision whose breaker is open is skipped while another is available', async () => {
    await createService(gateway, 'pair', origin.port, {
      revision: { backend_base_path: '/good', traffic_weight: 1 },
    });
    await createRevision(gateway, 'pair', await freePort(), {
      revision: 'bad',
      traffic_weight: 1,
      circuit_breaker: { failures: 1, open_secs: 3600 },
    });
    // Equal weights: of two requests one meets each revision.
    await until(async () => {
      await request(gateway, '/pair/v1/x');
      return (await breakerOf('pair', 'bad')).state === 'open';
    });
    const responses = await Promise.all(Array.from({ length: 20 }, () => request(gateway, '/pair/v1/x')));
    for (const response of responses) expect(echoed(response).url).toBe('/good/x');
    expect((await breakerOf('pair')).state).toBe('closed');
    expect((await breakerOf('pair', 'bad')).state).toBe('open');
  });

  it('with all of them open the answer is 503', async () => {
    await gateway.must('PATCH', revisionPath('pair'), {
      backend_port: await freePort(),
      circuit_breaker: { failures: 1, open_secs: 3600 },
    });
    expect(await statuses('/pair/v1/x', 3)).toEqual([502, 503, 503]);
  });

  it('the state of a breaker survives changes that do not concern its backend', async () => {
    await gateway.must('PATCH', revisionPath('pair', 'v1', 'bad'), { traffic_weight: 7 });
    await gateway.must('PATCH', '/apps/pair', { name: 'renamed' });
    expect((await breakerOf('pair', 'bad')).state).toBe('open');
    expect((await request(gateway, '/pair/v1/x')).status).toBe(503);
  });

  it('the breaker of an unknown revision is 404', async () => {
    expect((await gateway.api('GET', `${revisionPath('pair', 'v1', 'none')}/breaker`)).status).toBe(404);
  });
});
