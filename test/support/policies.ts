/** What tests of policies share: credentials, API keys, numbers of `/metrics`, callers with an address, clocks. */
import * as http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestGateway } from './gateway.ts';
import { createEndpoint, createService, type Fields, type RequestParts, type Served } from './traffic.ts';
import { until } from './measure/until.ts';

export const bearer = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });

/** A new API key of an app; its value is in `token`. */
export function createKey(gateway: TestGateway, slug: string, fields: Fields = {}): Promise<Served> {
  return gateway.must('POST', `/apps/${slug}/tokens`, { name: 'test', scopes: [], ...fields });
}

/** A key that ends by itself in a moment, which was still ahead when the key was stored. */
export function createEndingKey(
  gateway: TestGateway,
  slug: string,
  afterMs: number,
  fields: Fields = {},
): Promise<Served> {
  return until(async () => {
    const expires_at = new Date(Date.now() + afterMs).toISOString();
    const key = { name: 'test', scopes: [], ...fields, expires_at };
    const { status, body } = await gateway.api('POST', `/apps/${slug}/tokens`, key);
    return status === 201 ? body.data : undefined;
  });
}

/** Current value of a metric: the sum over all samples that carry these labels, 0 when there are none. */
export async function metric(
  gateway: TestGateway,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const answer = await gateway.api('GET', '//metrics');
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const line of String(answer.body).split('\n')) {
    const [, family = '', fields = '', value = ''] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const present = fields.split(/,(?=[a-z])/);
    if (family === name && wanted.every((field) => present.includes(field))) sum += Number(value);
  }
  return sum;
}

export interface ServedPath {
  /** Endpoint path under `/<slug>/v1`. */
  readonly path: string;
  readonly policy: Fields;
  readonly method?: string;
}

/** App `/<slug>` with one endpoint for each policy: cheaper than an app for each. */
export async function createPolicies(
  gateway: TestGateway,
  slug: string,
  backendPort: number,
  paths: readonly ServedPath[],
): Promise<void> {
  await createService(gateway, slug, backendPort);
  await Promise.all(
    paths.map(({ path, policy, method = '*' }) =>
      createEndpoint(gateway, slug, method, path, { policy_override: policy }),
    ),
  );
}

export interface PlainResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** A request on a pool of connections, or from another loopback address: `127.0.0.2` and so on. */
export function send(
  gateway: TestGateway,
  path: string,
  { method = 'GET', headers = {}, body = '' }: RequestParts = {},
  { agent, localAddress }: { readonly agent?: http.Agent; readonly localAddress?: string } = {},
): Promise<PlainResponse> {
  return new Promise((done, fail) => {
    const request = http.request(
      {
        host: '127.0.0.1',
        port: gateway.proxyPort,
        path,
        method,
        headers,
        agent: agent ?? false,
        ...(localAddress === undefined ? {} : { localAddress }),
      },
      (response) => {
        let text = '';
        response.setEncoding('latin1');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', fail);
        response.on('end', () =>
          done({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
        );
      },
    );
    request.on('error', fail);
    request.end(body);
  });
}

const DAY_SECS = 86_400;

/** A window length of about a day whose clock-aligned end is hours away, so that no test runs into it. */
export function quietWindowSecs(): number {
  const nowSecs = Date.now() / 1000;
  for (let windowSecs = DAY_SECS; ; windowSecs += 3_600) {
    const leftSecs = windowSecs - (nowSecs % windowSecs);
    if (leftSecs > 6 * 3_600) return windowSecs;
  }
}

/** Waits, if need be, until at least `leftMs` are left of the present window of the wall clock. */
export async function roomInWindow(windowMs: number, leftMs: number): Promise<void> {
  const restMs = windowMs - (Date.now() % windowMs);
  if (restMs < leftMs) await pause(restMs + 5);
}
