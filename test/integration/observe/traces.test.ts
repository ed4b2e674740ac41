/**
 * Traces and metrics as a collector gets them: which exchanges, with which spans and names, and what happens when the
 * collector is dead, slow or refuses.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from '../../../src/cli/cli.fixture.ts';
import {
  startCollector,
  type MetricPoint,
  type Span,
  type TestCollector,
} from '../../support/backends/collector.ts';
import { startOrigin, startRawOrigin, type Origin, type RawOrigin } from '../../support/backends/origin.ts';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import type { GatewayState, NodeState } from '../../../src/management/schemas/overview/state-schema.ts';
import { createEndpoint, createService, problem, request } from '../../support/traffic.ts';

const SOURCES = resolve(import.meta.dirname, '../../../src/main.ts');
const SERVER = 2;
const CLIENT = 3;
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = (flags: string): string => `00-${TRACE}-${PARENT}-${flags}`;

/** Of the threads of a process, proc_pid_stat(5). */
function niceness(pid: number): { readonly exporting: number[]; readonly others: number[] } {
  const found = { exporting: [] as number[], others: [] as number[] };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    const nice = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[16]);
    (text.includes('(telemetry)') ? found.exporting : found.others).push(nice);
  }
  return found;
}

let collector: TestCollector;
let origin: Origin;
beforeAll(async () => {
  [collector, origin] = await Promise.all([startCollector(), startOrigin()]);
});
afterAll(async () => {
  await Promise.all([collector.close(), origin.close()]);
});

const serverSpan = (id: string | undefined): Promise<Span> =>
  until(() => collector.spans.find(({ attributes }) => attributes['headgate.request_id'] === id));
const childrenOf = ({ spanId }: Span): Span[] =>
  collector.spans.filter(({ parentId }) => parentId === spanId);

describe('with everything kept', () => {
  let gateway: TestGateway;
  let broken: RawOrigin;
  let key: string;
  beforeAll(async () => {
    broken = await startRawOrigin((socket) => socket.destroy());
    gateway = await startGateway({
      env: {
        // The names of the specification.
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
        OTEL_SERVICE_NAME: 'edge',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=s3cret%3D',
        OTEL_TRACES_SAMPLER: 'always_on',
        GATEWAY_OTEL__COMPRESSION: 'gzip',
        OTEL_METRIC_EXPORT_INTERVAL: '1000',
        GATEWAY_OTEL__SIGNALS: 'traces,metrics,logs',
        GATEWAY_OTEL__TRACE_URL: 'https://tempo.example/trace/{trace_id}?x=1',
      },
    });
    await createService(gateway, 'shop', origin.port, { app: { routing_mode: 'managed_endpoint' } });
    await createEndpoint(gateway, 'shop', 'GET', '/items/{id}');
    await createService(gateway, 'broken', broken.port, {
      app: { default_policy: { retries: { max: 2, on: ['reset'] } } },
    });
    await createService(gateway, 'closed', origin.port, {
      app: {
        default_policy: {
          auth: { auth_type: 'api_key' },
          rate_limit: { enabled: true, requests: 1, window_seconds: 60 },
        },
      },
    });
    await createService(gateway, 'trial', origin.port, {
      app: {
        default_policy: {
          allowed_methods: ['POST'],
          rate_limit: { enabled: true, requests: 1, window_seconds: 3_600 },
          shadow: ['allowed_methods', 'rate_limit'],
        },
      },
    });
    key = (await gateway.must('POST', '/apps/closed/tokens', { name: 'k' })).token;
  });
  afterAll(async () => {
    await gateway.stop();
    await broken.close();
  });

  it('has a span of the server, and one of the client below it, by the names of the conventions', async () => {
    const answer = await request(gateway, '/shop/v1/items/42?token=secret', {
      headers: {
        Host: 'shop.test:8080',
        'User-Agent': 'tester/1',
        traceparent: traceparent('00'),
        tracestate: 'a=b',
      },
    });
    expect(answer.status).toBe(200);
    const server = await serverSpan(answer.headers['x-request-id']);
    expect(server).toMatchObject({
      traceId: TRACE,
      parentId: PARENT,
      name: 'GET /shop/v1/items/{id}',
      kind: SERVER,
      status: 0,
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/shop/v1/items/{id}',
        'http.response.status_code': 200,
        'network.protocol.name': 'http',
        'network.protocol.version': '1.1',
        'url.scheme': 'http',
        'url.path': '/shop/v1/items/42',
        'server.address': 'shop.test',
        'server.port': 8080,
        'client.address': '127.0.0.1',
        'user_agent.original': 'tester/1',
        'headgate.app': 'shop',
        'headgate.version': 'v1',
      },
      resource: {
        'service.name': 'edge',
        'service.version': expect.any(String),
        'service.instance.id': expect.any(String),
        'deployment.environment.name': 'test bed',
      },
    });
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
    const [client, ...others] = childrenOf(server);
    expect(others).toEqual([]);
    expect(client).toMatchObject({
      traceId: TRACE,
      name: 'GET',
      kind: CLIENT,
      status: 0,
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'server.port': origin.port,
        'url.full': `http://127.0.0.1:${origin.port}/items/42`,
      },
    });
    expect(client?.startMs).toBeGreaterThanOrEqual(server.startMs);
    expect(client?.endMs).toBeLessThanOrEqual(server.endMs);
    expect(Math.abs(server.startMs - Date.now())).toBeLessThan(60_000);
    // The backend continues with the span of its attempt, and is told that it is recorded.
    const seen = origin.seen.at(-1);
    expect(seen?.headers['traceparent']).toBe(`00-${TRACE}-${client?.spanId}-01`);
    expect(seen?.headers['tracestate']).toBe('a=b');
    expect(collector.requests.findLast(({ path }) => path === '/v1/traces')).toMatchObject({
      headers: {
        'content-type': 'application/x-protobuf',
        'content-encoding': 'gzip',
        'x-api-key': 's3cret=',
        'user-agent': expect.stringContaining('Headgate'),
      },
    });
  });

  it('has a span for each attempt, and errors where there are', async () => {
    const answer = await request(gateway, '/broken/v1/x');
    expect(answer.status).toBe(502);
    const server = await serverSpan(answer.headers['x-request-id']);
    expect(server).toMatchObject({
      parentId: '',
      status: 2,
      attributes: { 'http.response.status_code': 502, 'headgate.retries': 2, 'error.type': 'upstream_reset' },
    });
    const failed = gateway
      .logs()
      .find(
        ({ msg, request_id }) =>
          msg === 'a request to a backend failed' && request_id === answer.headers['x-request-id'],
      );
    expect(failed?.['trace_id']).toBe(server.traceId);
    const attempts = childrenOf(server);
    expect(attempts.map(({ attributes }) => attributes['http.request.resend_count'])).toEqual([
      undefined,
      1,
      2,
    ]);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ kind: CLIENT, status: 2, attributes: { 'error.type': 'reset' } });
      expect(attempt.attributes).not.toHaveProperty('http.response.status_code');
    }
    for (const [index, attempt] of attempts.entries())
      if (index > 0) expect(attempt.startMs).toBeGreaterThanOrEqual(attempts[index - 1]?.endMs ?? 0);
  });

  it('has the stage that denied, without an error of the server', async () => {
    const without = await request(gateway, '/closed/v1/x');
    const server = await serverSpan(without.headers['x-request-id']);
    expect(server).toMatchObject({
      status: 0,
      attributes: { 'http.response.status_code': 401, 'headgate.error_code': 'credentials_missing' },
      events: [{ name: 'headgate.denied', attributes: { 'headgate.part': 'auth' } }],
    });
    expect(server.attributes).not.toHaveProperty('error.type');
    expect(childrenOf(server)).toEqual([]);
    const headers = { Authorization: `Bearer ${key}` };
    await request(gateway, '/closed/v1/x', { headers });
    const limited = await request(gateway, '/closed/v1/x', { headers });
    const { events } = await serverSpan(limited.headers['x-request-id']);
    expect(events).toMatchObject([
      { name: 'headgate.rate_limit', attributes: { 'headgate.limit': 1, 'headgate.limit.admitted': false } },
      { name: 'headgate.denied', attributes: { 'headgate.part': 'rate_limit' } },
    ]);
  });

  it('has the parts in shadow mode that would have denied, of a request that passed', async () => {
    await request(gateway, '/trial/v1/x', { method: 'POST' });
    const answer = await request(gateway, '/trial/v1/x');
    expect(answer.status).toBe(200);
    const server = await serverSpan(answer.headers['x-request-id']);
    expect(server.attributes).not.toHaveProperty('headgate.error_code');
    const shadowEvents = server.events.filter(({ name }) => name === 'headgate.would_deny');
    expect(shadowEvents.map(({ attributes }) => attributes)).toEqual([
      { 'headgate.part': 'allowed_methods', 'headgate.error_code': 'method_not_allowed' },
      { 'headgate.part': 'rate_limit', 'headgate.error_code': 'rate_limited' },
    ]);
    expect(server.events.some(({ name }) => name === 'headgate.denied')).toBe(false);
    for (const { atMs } of shadowEvents) {
      expect(atMs).toBeGreaterThanOrEqual(server.startMs);
      expect(atMs).toBeLessThanOrEqual(server.endMs);
    }
  });

  it('is named in the access log and in problem documents', async () => {
    const answer = await request(gateway, '/closed/v1/x', { headers: { traceparent: traceparent('01') } });
    expect(problem(answer)).toMatchObject({ trace_id: TRACE });
    const id = answer.headers['x-request-id'];
    const line = await until(() =>
      gateway.logs().find(({ msg, request_id }) => msg === 'access' && request_id === id),
    );
    expect(line['trace_id']).toBe(TRACE);
    // Explain finds it by either id.
    for (const name of [id, TRACE])
      expect(await gateway.must('GET', `/explain/${name}`)).toMatchObject({
        trace_id: TRACE,
        trace_url: `https://tempo.example/trace/${TRACE}?x=1`,
      });
  });

  it('has the configuration that decided, also if the request ends under another one, as explain does', async () => {
    const sockets: Socket[] = [];
    const slow = await startRawOrigin((socket) => sockets.push(socket));
    try {
      await createService(gateway, 'slow', slow.port);
      const { config_version: decided } = await gateway.must('GET', '/config');
      const asked = request(gateway, '/slow/v1/x');
      await until(() => sockets[0]);
      await gateway.must('PATCH', '/apps/slow', { description: 'changed' });
      sockets[0]?.end('no response\r\n\r\n');
      const { status, headers } = await asked;
      expect(status).toBe(502);
      const id = headers['x-request-id'];
      expect((await serverSpan(id)).attributes['headgate.config_version']).toBe(decided);
      expect((await gateway.must('GET', `/explain/${id}`)).config_version).toBe(decided);
      const { config_version: now } = await gateway.must('GET', '/config');
      expect(now).toBe(decided + 1);
      // A request without a route is decided, too.
      const unmatched = await request(gateway, '/nothing/here');
      const span = await serverSpan(unmatched.headers['x-request-id']);
      expect(span.attributes['headgate.config_version']).toBe(now);
    } finally {
      await slow.close();
    }
  });

  it('has metrics as they are scraped, by the names of the conventions', async () => {
    const { headers } = await request(gateway, '/shop/v1/items/42');
    await serverSpan(headers['x-request-id']);
    const isOfItems = ({ name, value, attributes }: MetricPoint): boolean =>
      name === 'http.server.request.duration' &&
      attributes['http.route'] === '/shop/v1/items/{id}' &&
      value >= 2;
    const point = await until(() => collector.points.findLast(isOfItems));
    expect(point).toMatchObject({
      kind: 'histogram',
      unit: 's',
      temporality: 2,
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'headgate.app': 'shop',
        'headgate.version': 'v1',
      },
      resource: { 'service.name': 'edge', 'deployment.environment.name': 'test bed' },
    });
    expect(point.buckets).toHaveLength(point.bounds.length + 1);
    expect(point.buckets.reduce((sum, count) => sum + count)).toBe(point.value);
    expect(point.sum).toBeGreaterThan(0);
    expect(point.startMs).toBeLessThan(point.atMs);
    expect(Math.abs(point.atMs - Date.now())).toBeLessThan(60_000);
    const named = (name: string): MetricPoint | undefined =>
      collector.points.findLast((each) => each.name === name);
    expect(named('headgate.requests')).toMatchObject({ kind: 'sum', isMonotonic: true, temporality: 2 });
    expect(named('headgate.workers')).toMatchObject({ kind: 'gauge', value: expect.any(Number) });
    expect(named('process.memory.usage')).toMatchObject({ kind: 'gauge', unit: 'By' });
    expect(named('process.cpu.time')?.attributes).toEqual({ 'cpu.mode': expect.any(String) });
    const { body } = await gateway.api('GET', '//metrics');
    expect(String(body)).toMatch(/headgate_otel_metric_points_total\{result="exported"\} [1-9]/);
  });

  it('has the lines of the log, of the main thread and of workers, with the trace of a request', async () => {
    const answer = await request(gateway, '/broken/v1/logged', {
      headers: { traceparent: traceparent('00'), authorization: 'Bearer hunter2hunter2' },
    });
    expect(answer.status).toBe(502);
    const id = answer.headers['x-request-id'];
    const ofWorker = await until(() =>
      collector.records.find(({ attributes }) => attributes['headgate.request_id'] === id),
    );
    expect(ofWorker).toMatchObject({
      severity: 13,
      severityText: 'warn',
      body: 'a request to a backend failed',
      traceId: TRACE,
      attributes: { 'headgate.app': 'broken', 'headgate.worker': expect.any(Number) },
      resource: { 'service.name': 'edge', 'deployment.environment.name': 'test bed' },
    });
    expect(Math.abs(ofWorker.atMs - Date.now())).toBeLessThan(60_000);
    // From before there was a thread that exports.
    const ready = collector.records.find(({ body }) => body === 'headgate is ready');
    expect(ready).toMatchObject({ severity: 9, attributes: { 'headgate.database': 'sqlite' } });
    expect(collector.requests.some(({ path }) => path === '/v1/logs')).toBe(true);
    expect(JSON.stringify(collector.records)).not.toContain('hunter2');
    // Lines of requests are not among them.
    expect(collector.records.some(({ attributes }) => 'headgate.duration_ms' in attributes)).toBe(false);
    const { body } = await gateway.api('GET', '//metrics');
    expect(String(body)).toMatch(/headgate_otel_log_records_total\{result="exported"\} [1-9]/);
  });

  it('counts what was exported', async () => {
    const text = await until(async () => {
      const { body } = await gateway.api('GET', '//metrics');
      return /headgate_otel_spans_total\{result="exported"\} [1-9]/.test(String(body)) && String(body);
    });
    expect(text).toContain('headgate_otel_spans_total{result="failed"} 0');
  });

  it.runIf(platform() === 'linux')('is exported by a thread that lets all others go first', () => {
    const { exporting, others } = niceness(gateway.process.pid ?? 0);
    expect(exporting).toHaveLength(1);
    expect(others.length).toBeGreaterThan(4);
    for (const nice of others) expect(nice).toBeLessThan(exporting[0] ?? 0);
  });
});

describe('without an endpoint', () => {
  interface Coverage {
    readonly result: readonly { readonly url: string }[];
  }

  it('there is no thread that exports, and no other has loaded what it runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-scripts-'));
    // The sources, since a bundle has few files. V8 writes which of them each thread has run.
    const gateway = await startGateway({
      env: { NODE_V8_COVERAGE: folder },
      command: [process.execPath, SOURCES],
    });
    try {
      await createService(gateway, 'shop', origin.port);
      expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
      // With an endpoint it is there, see above.
      if (platform() === 'linux') expect(niceness(gateway.process.pid ?? 0).exporting).toEqual([]);
    } finally {
      await gateway.stop();
    }
    const scripts = readdirSync(folder).flatMap((name) => {
      const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage;
      return result.map(({ url }) => url.split('/src/').at(-1) ?? '');
    });
    rmSync(folder, { recursive: true });
    expect(scripts).toEqual(expect.arrayContaining(['main.ts', 'worker.ts', 'telemetry/spans/trace-tap.ts']));
    expect(scripts.filter((url) => /^telemetry-worker|^telemetry\/export\//.test(url))).toEqual([]);
  });
});

describe('by default', () => {
  let gateway: TestGateway;
  let slow: Origin;
  let slowMs = 300;
  beforeAll(async () => {
    slow = await startOrigin((seen, response) => {
      const answer = (): void => void response.end();
      if (seen.url === '/slow') setTimeout(answer, slowMs);
      else answer();
    });
    gateway = await startGateway({
      env: {
        GATEWAY_OTEL__TRACES_ENDPOINT: `${collector.url}/traces`,
        // Nothing by chance.
        GATEWAY_OTEL__SAMPLE_RATIO: '0',
        GATEWAY_TRUSTED_PROXY_IPS: '127.0.0.1',
      },
    });
    await createService(gateway, 'shop', slow.port, {
      app: { default_policy: { allowed_methods: ['GET'] } },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    await slow.close();
  });

  const idOf = async (target: string, parts: Parameters<typeof request>[2] = {}): Promise<string> =>
    (await request(gateway, target, parts)).headers['x-request-id'] ?? '';
  const idsOfSpans = (): unknown[] =>
    collector.spans.map(({ attributes }) => attributes['headgate.request_id']);

  it('keeps errors and denials, what a trusted proxy has sampled, and nothing else', async () => {
    const ordinary = await idOf('/shop/v1/x');
    const notSampled = await idOf('/shop/v1/x', { headers: { traceparent: traceparent('00') } });
    const sampled = await idOf('/shop/v1/x', { headers: { traceparent: traceparent('01') } });
    const denied = await idOf('/shop/v1/x', { method: 'POST' });
    const unknown = await idOf('/none');
    await until(() => [sampled, denied, unknown].every((id) => idsOfSpans().includes(id)));
    expect(idsOfSpans()).not.toContain(ordinary);
    expect(idsOfSpans()).not.toContain(notSampled);
    expect(collector.requests.map(({ path }) => path)).toContain('/traces');
    // Backends are told that an ordinary request is not recorded.
    expect(
      slow.seen.find(({ headers }) => headers['x-request-id'] === ordinary)?.headers['traceparent'],
    ).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  });

  it('keeps the slowest of a route', async () => {
    let longestMs = 0;
    for (let wave = 0; wave < 10; wave++) {
      const startedMs = performance.now();
      await Promise.all(Array.from({ length: 40 }, () => idOf('/shop/v1/x')));
      longestMs = Math.max(longestMs, performance.now() - startedMs);
    }
    // On a machine with much else to do, others are slow too.
    slowMs = Math.max(slowMs, longestMs);
    const id = await idOf('/shop/v1/slow');
    const span = await serverSpan(id);
    expect(span.endMs - span.startMs).toBeGreaterThan(250);
  });
});

describe('a client that may not be trusted', () => {
  it('does not decide what is sampled', async () => {
    const gateway = await startGateway({
      env: {
        GATEWAY_OTEL__ENDPOINT: collector.url,
        GATEWAY_OTEL__SAMPLE_RATIO: '0',
        GATEWAY_OTEL__KEEP: 'none',
      },
    });
    try {
      await createService(gateway, 'shop', origin.port);
      const answer = await request(gateway, '/shop/v1/x', { headers: { traceparent: traceparent('01') } });
      expect(answer.status).toBe(200);
      const seen = origin.seen.find(
        ({ headers }) => headers['x-request-id'] === answer.headers['x-request-id'],
      );
      expect(seen?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    } finally {
      await gateway.stop();
    }
    expect(collector.spans.some(({ attributes }) => attributes['headgate.caller.id'] === 'none')).toBe(false);
  });
});

describe('a collector', () => {
  const stateOf = async (gateway: TestGateway): Promise<GatewayState['telemetry']> => {
    const [own] = (await gateway.must('GET', '/state')) as NodeState[];
    return own?.state?.telemetry ?? expect.unreachable();
  };
  const OFF = {
    state: 'off',
    endpoint: null,
    exported: 0,
    dropped: 0,
    failed: 0,
    waiting_bytes: null,
    last_failure: null,
  };
  const metric = async (gateway: TestGateway, name: string): Promise<number> => {
    const { body } = await gateway.api('GET', '//metrics');
    const line = String(body)
      .split('\n')
      .find((each) => each.startsWith(`${name} `));
    return Number(line?.split(' ').at(-1));
  };
  const FAILED = 'headgate_otel_spans_total{result="failed"}';
  const EXPORTED = 'headgate_otel_spans_total{result="exported"}';
  const problemsOf = async (
    gateway: TestGateway,
  ): Promise<{ code: string; detail: string; since: string }[]> =>
    (await gateway.must('GET', '/problems')).data ?? (await gateway.must('GET', '/problems'));

  it('that refuses, hangs, dies and returns is reported, and traffic is not affected', async () => {
    const fickle = await startCollector();
    const gateway = await startGateway({
      env: {
        GATEWAY_OTEL__ENDPOINT: fickle.url,
        GATEWAY_OTEL__SIGNALS: 'traces,logs',
        GATEWAY_OTEL__SAMPLE_RATIO: '1',
        GATEWAY_OTEL__TIMEOUT_MS: '500',
      },
    });
    try {
      await createService(gateway, 'shop', origin.port);
      const ask = async (): Promise<void> => {
        expect((await request(gateway, '/shop/v1/x')).status).toBe(200);
      };
      fickle.behave((response) => void response.writeHead(400).end('secret of the collector'));
      const fromMs = Date.now();
      await ask();
      await until(async () => (await metric(gateway, FAILED)) === 2);
      const [problem] = await problemsOf(gateway);
      expect(problem).toMatchObject({
        code: 'telemetry_not_exported',
        detail: expect.stringContaining('the collector answers 400'),
      });
      expect(Date.parse(problem?.since ?? '')).toBeGreaterThanOrEqual(fromMs);
      // The head of a response that never ends.
      fickle.behave((response) => void response.writeHead(200).write('x'));
      await ask();
      await until(async () => (await metric(gateway, FAILED)) === 4);
      await fickle.close();
      await ask();
      await until(async () => (await metric(gateway, FAILED)) === 6);
      // It is one problem, whatever the collector does wrong.
      expect(await problemsOf(gateway)).toMatchObject([{ since: problem?.since }]);
      expect(JSON.stringify(gateway.logs())).not.toContain('secret of the collector');
      expect(gateway.logs().filter(({ msg }) => String(msg).startsWith('telemetry cannot'))).toHaveLength(1);
      expect(await metric(gateway, 'headgate_otel_log_records_total{result="failed"}')).toBeGreaterThan(0);
    } finally {
      await gateway.stop();
    }
  });

  it('is in the state of the gateway, by signal, without credentials', async () => {
    const fickle = await startCollector();
    const { host } = new URL(fickle.url);
    const gateway = await startGateway({
      env: {
        GATEWAY_OTEL__TRACES_ENDPOINT: `http://hunter:hunter2@${host}/of/traces?key=hunter2`,
        GATEWAY_OTEL__METRICS_ENDPOINT: `${fickle.url}/of/metrics`,
        GATEWAY_OTEL__METRICS_INTERVAL_MS: '1000',
        GATEWAY_OTEL__HEADERS: 'x-api-key=hunter2',
        GATEWAY_OTEL__SAMPLE_RATIO: '1',
        GATEWAY_OTEL__TIMEOUT_MS: '500',
      },
    });
    try {
      await createService(gateway, 'shop', origin.port);
      await request(gateway, '/shop/v1/x');
      const well = await until(async () => {
        const state = await stateOf(gateway);
        return state.traces.exported > 0 && state.metrics.exported > 0 && state;
      });
      expect(well).toEqual({
        traces: { ...OFF, state: 'ok', endpoint: `${fickle.url}/of/traces`, exported: 2, waiting_bytes: 0 },
        metrics: {
          ...OFF,
          state: 'ok',
          endpoint: `${fickle.url}/of/metrics`,
          exported: expect.any(Number),
        },
        logs: OFF,
      });
      fickle.behave(
        (response) => void response.writeHead(response.req.url?.includes('metrics') ? 200 : 400).end(),
      );
      const failedFromMs = Date.now();
      await request(gateway, '/shop/v1/x');
      const failing = await until(async () => {
        const state = await stateOf(gateway);
        return state.traces.state === 'failing' && state;
      });
      expect(failing.traces).toMatchObject({
        exported: 2,
        failed: 2,
        last_failure: { detail: 'the collector answers 400' },
      });
      const failedAtMs = Date.parse(failing.traces.last_failure?.at ?? '');
      expect(failedAtMs).toBeGreaterThanOrEqual(failedFromMs);
      expect(failedAtMs).toBeLessThanOrEqual(Date.now());
      expect(failing.metrics).toMatchObject({ state: 'ok', failed: 0, last_failure: null });
      // PartialSuccess without rejected spans, only with a message.
      const warning = Buffer.concat([Buffer.from([0x0a, 0x06, 0x12, 0x04]), Buffer.from('soon')]);
      fickle.behave((response) => void response.writeHead(200).end(warning));
      await request(gateway, '/shop/v1/x');
      await until(() =>
        gateway.logs().some((line) => line['signal'] === 'traces' && line['warning'] === 'soon'),
      );
      fickle.behave(undefined);
      const again = await until(async () => {
        const state = await stateOf(gateway);
        return state.traces.state === 'ok' && state;
      });
      // When it was last in trouble is still known.
      expect(again.traces).toEqual({
        ...well.traces,
        exported: 4,
        failed: 2,
        last_failure: failing.traces.last_failure,
      });
      const { out } = await headgate({ url: gateway.base }, ['state'], { HEADGATE_TOKEN: ADMIN_TOKEN });
      expect(out).toMatch(
        /^traces +ok, http:\/\/127\.0\.0\.1:\d+\/of\/traces: 4 exported, 0 dropped, 2 failed, 0 bytes waiting, last failure at \S+Z: the collector answers 400$/m,
      );
      expect(out).toMatch(/^metrics +ok, \S+: [1-9]\d* exported, 0 dropped, 0 failed$/m);
      expect(out).toMatch(/^logs +off$/m);
      expect(JSON.stringify([well, failing, again, out])).not.toContain('hunter');
    } finally {
      await gateway.stop();
      await fickle.close();
    }
  });

  it('gets what is left when the gateway stops', async () => {
    const before = collector.records.length;
    const requestsBefore = collector.requests.length;
    const gateway = await startGateway({
      env: {
        GATEWAY_OTEL__ENDPOINT: collector.url,
        GATEWAY_OTEL__SAMPLE_RATIO: '1',
        OTEL_LOGS_EXPORTER: 'otlp',
        OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'delta',
        OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-api-key=of%20metrics',
      },
    });
    await createService(gateway, 'shop', origin.port);
    const { headers } = await request(gateway, '/shop/v1/x');
    expect(await metric(gateway, EXPORTED)).toBe(0);
    expect(await gateway.stop()).toBe(0);
    expect(
      collector.spans.some(({ attributes }) => attributes['headgate.request_id'] === headers['x-request-id']),
    ).toBe(true);
    expect(collector.records.slice(before).some(({ body }) => body === 'stopping')).toBe(true);
    // Of each signal as it is set.
    expect(collector.points.findLast(({ name }) => name === 'headgate.requests')).toMatchObject({
      temporality: 1,
      value: 1,
    });
    const keyOf = (signal: string) =>
      collector.requests.slice(requestsBefore).find(({ path }) => path === `/v1/${signal}`)?.headers[
        'x-api-key'
      ];
    expect([keyOf('metrics'), keyOf('traces')]).toEqual(['of metrics', undefined]);
  });

  it('that is dead does not hold a stop up', async () => {
    const dead = await startCollector();
    dead.behave(() => undefined);
    const gateway = await startGateway({
      env: {
        GATEWAY_OTEL__ENDPOINT: dead.url,
        GATEWAY_OTEL__SAMPLE_RATIO: '1',
        OTEL_LOGS_EXPORTER: 'otlp',
      },
    });
    await createService(gateway, 'shop', origin.port);
    await request(gateway, '/shop/v1/x');
    await until(() => dead.requests.length > 0);
    const startedMs = performance.now();
    expect(await gateway.stop()).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(8_000);
    await dead.close();
  });
});
