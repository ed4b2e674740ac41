/**
 * What the collector of the OpenTelemetry project prints of a retried, a denied, an upgraded and a streamed exchange,
 * of the metrics and of the log.
 */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { startOtelCollector, type OtelCollector } from '../support/programs/otel-collector.ts';
import { createService, request } from '../support/traffic.ts';

let collector: OtelCollector;
let gateway: TestGateway;
let origin: Origin;
let flaky: Origin;
let sockets: WebSocketServer;

beforeAll(async () => {
  collector = await startOtelCollector();
  let asked = 0;
  flaky = await startOrigin((seen, response) => {
    asked += 1;
    if (asked === 1) seen.socket.destroy();
    else response.end('ok');
  });
  origin = await startOrigin((_seen, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let count = 0;
    const timer = setInterval(() => {
      response.write(`data: ${count}\n\n`);
      if (++count === 5) {
        clearInterval(timer);
        response.end();
      }
    }, 100);
  });
  sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
  await new Promise((done) => sockets.once('listening', done));
  gateway = await startGateway({
    env: {
      GATEWAY_OTEL__ENDPOINT: collector.url,
      GATEWAY_OTEL__SAMPLE_RATIO: '1',
      GATEWAY_OTEL__METRICS_INTERVAL_MS: '1000',
      GATEWAY_OTEL__SIGNALS: 'traces,metrics,logs',
      GATEWAY_OTEL__RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    },
  });
  await createService(gateway, 'flaky', flaky.port, {
    app: { default_policy: { retries: { max: 2, on: ['reset'] } } },
  });
  await createService(gateway, 'stream', origin.port);
  await createService(gateway, 'sockets', (sockets.address() as { port: number }).port);
  await createService(gateway, 'closed', origin.port, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
}, 900_000);

afterAll(async () => {
  await gateway.stop();
  await Promise.all([collector.stop(), origin.close(), flaky.close()]);
  sockets.close();
});

/** What the collector printed of the span of the server, and of those below it. */
async function printed(requestId: string | undefined, spans: number): Promise<string> {
  const text = await until(() => {
    const all = collector.output().split(/(?=^Span #\d+$)/m);
    const server = all.find((span) => span.includes(`headgate.request_id: Str(${requestId})`));
    const trace = /Trace ID\s*: (\w+)/.exec(server ?? '')?.[1];
    const found = all.filter((span) => trace !== undefined && span.includes(trace));
    return found.length >= spans && found.join('');
  });
  process.stdout.write(`${text}\n`);
  return text;
}

it('a retried exchange has a span for each attempt', async () => {
  const answer = await request(gateway, '/flaky/v1/x');
  expect(answer.status).toBe(200);
  const text = await printed(answer.headers['x-request-id'], 3);
  expect(text).toContain('error.type: Str(reset)');
  expect(text).toContain('http.request.resend_count: Int(1)');
  expect(text).toContain('headgate.retries: Int(1)');
  expect(text.match(/Kind\s+: Client/g)).toHaveLength(2);
});

it('a denied exchange names the part', async () => {
  const answer = await request(gateway, '/closed/v1/x');
  expect(answer.status).toBe(401);
  const text = await printed(answer.headers['x-request-id'], 1);
  expect(text).toContain('Name: headgate.denied');
  expect(text).toContain('headgate.part: Str(auth)');
  expect(text).toContain('headgate.error_code: Str(credentials_missing)');
});

it('an upgraded exchange lasts as long as its WebSocket', async () => {
  const { host } = new URL(gateway.proxy);
  const socket = new WebSocket(`ws://${host}/sockets/v1/chat`);
  const id = await new Promise<string>((done, failed) => {
    socket.once('error', failed);
    socket.once('upgrade', ({ headers }) => done(String(headers['x-request-id'])));
  });
  await until(() => socket.readyState === WebSocket.OPEN);
  socket.send('hello');
  await new Promise((done) => socket.once('message', done));
  await new Promise((done) => setTimeout(done, 300));
  socket.close();
  const text = await printed(id, 2);
  expect(text).toContain('http.response.status_code: Int(101)');
});

it('a streamed exchange lasts until its last byte', async () => {
  const { hostname, port } = new URL(gateway.proxy);
  const socket = connect(Number(port), hostname);
  socket.write(`GET /stream/v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  const id = /x-request-id: (\S+)/i.exec(answer)?.[1];
  const text = await printed(id, 2);
  const [start, end] = ['Start', 'End'].map((name) =>
    Date.parse(new RegExp(`${name} time\\s+: (\\S+ \\S+)`).exec(text)?.[1] ?? ''),
  );
  expect(Number(end) - Number(start)).toBeGreaterThan(390);
});

it('metrics are histograms, sums and gauges', async () => {
  await until(() => collector.output().includes('Name: http.server.request.duration'));
  const text = await until(() => {
    const metric = collector
      .output()
      .split(/(?=^Metric #\d+$)/m)
      .findLast((each) => each.includes('Name: http.server.request.duration'));
    return metric !== undefined && metric.includes('/stream/v1') && metric;
  });
  process.stdout.write(`${text.slice(0, 2_000)}\n`);
  expect(text).toContain('DataType: Histogram');
  expect(text).toContain('AggregationTemporality: Cumulative');
  expect(collector.output()).toContain('Name: headgate.requests');
  expect(collector.output()).toContain('IsMonotonic: true');
  expect(collector.output()).toContain('deployment.environment.name: Str(test)');
});

it('lines of the log are records', async () => {
  const text = await until(() =>
    collector
      .output()
      .split(/(?=^LogRecord #\d+$)/m)
      .find((each) => each.includes('Body: Str(headgate is ready)')),
  );
  process.stdout.write(`${text.slice(0, 2_000)}\n`);
  expect(text).toContain('SeverityText: info');
  expect(text).toContain('SeverityNumber: Info(9)');
  expect(text).toContain('headgate.database: Str(sqlite)');
});
