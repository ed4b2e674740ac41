/**
 * Explain and the proxy agree: random requests in random configurations are explained and then sent, over a socket and
 * to a real backend, and both must come to the same: outcome, status, code, header fields, and to the byte what the
 * backend is sent. That explaining leaves no trace shows in the next request, for which limits are small.
 *
 * EXPLAIN_RUNS=2000 makes it go on; a failure prints the seed and path with which fast-check repeats it
 * (EXPLAIN_SEED, EXPLAIN_PATH).
 */
import * as net from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ExplainInput, Explanation, HeaderField } from '../../../src/explain/schema.ts';
import {
  changeOf,
  configurations,
  requestsFor,
  type Draft,
} from '../../support/data/explain-configurations.ts';
import { startHoldingOrigin } from '../../support/backends/holding-origin.ts';
import { signed } from '../../support/data/jwts.ts';
import {
  startOrigin,
  startRawOrigin,
  type Origin,
  type RawOrigin,
  type Seen,
} from '../../support/backends/origin.ts';
import { oneRoute, startProxy, type TestProxy } from '../../support/proxy.ts';
import { untilHolds } from '../../support/measure/until.ts';

const RUNS = Number(process.env['EXPLAIN_RUNS'] ?? 120);
const ROUNDS_MAX = 3;
const SEED = process.env['EXPLAIN_SEED'];
const PATH = process.env['EXPLAIN_PATH'];

/** Outcomes, codes and one verdict that every run meets. */
const REACHED = [
  'forwarded',
  'answered',
  'would_deny',
  'bad_request',
  'no_route',
  'endpoint_disabled',
  'credentials_missing',
  'insufficient_scope',
  'missing_claim',
  'method_not_allowed',
  'rate_limited',
  'body_too_large',
  'circuit_open',
];

let origin: Origin;
let broken: RawOrigin;
let dead: number;
let jwts: string[];

beforeAll(async () => {
  origin = await startOrigin();
  // A port of its own, which no later listener can get.
  broken = await startRawOrigin((socket) => void socket.destroy());
  dead = broken.port;
  const claims = { iss: 'us', sub: 'ann', email: 'a@b.c' };
  jwts = await Promise.all([
    signed({ ...claims, scope: 'read write' }),
    signed({ ...claims, scope: 'read' }),
    signed({ iss: 'us', sub: 'bob', scope: 'read write' }),
    signed({ iss: 'us', sub: 'eve' }),
    signed({ ...claims, exp: 1 }),
    signed({ ...claims, iss: 'them' }),
    signed(claims, { header: { typ: 'x' } }),
  ]);
});
afterAll(async () => {
  await broken.close();
  await origin.close();
});

/** Counters, breakers and turns begin anew with each configuration, so that a case repeats by itself. */
function startGateway(draft: Draft): Promise<TestProxy> {
  return startProxy(changeOf(draft, { alive: origin.port, dead }), {
    trustedProxies: ['127.0.0.1'],
    options: { maxBodyBytes: 8, halfClose: true },
    policy: {
      perIp: { requests: 3, windowSecs: 31_000_000 },
      globals: { requests: 4, windowSeconds: 31_000_000 },
      authFailuresPerMinute: 5,
    },
  });
}

interface Real {
  readonly status: number;
  readonly fields: readonly HeaderField[];
  readonly code: string | null;
  readonly seen: Seen | undefined;
}

/** Sends what was described, byte for byte as a client would, on a connection of its own. */
async function send(
  port: number,
  { method, url, headers = {}, body_bytes: bytes = 0 }: ExplainInput,
): Promise<Real> {
  const before = origin.seen.length;
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  const chunked = 'Transfer-Encoding' in headers;
  const length = chunked ? '' : `Content-Length: ${bytes}\r\n`;
  const body = chunked
    ? (bytes === 0 ? '' : `${bytes}\r\n${'b'.repeat(bytes)}\r\n`) + '0\r\n\r\n'
    : 'b'.repeat(bytes);
  const head = `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n${fields.join('')}${length}\r\n`;
  const text = await exchange(port, head + body);
  const end = text.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const isProblem = /problem\+json/.test(text.slice(0, end)) && method !== 'HEAD';
  return {
    status: Number(statusLine.split(' ')[1]),
    fields: lines.map((line) => ({
      name: line.split(':', 1)[0] ?? '',
      value: line.slice(line.indexOf(':') + 2),
    })),
    code: isProblem ? (JSON.parse(text.slice(end + 4)) as { readonly code: string }).code : null,
    seen: origin.seen[before],
  };
}

/** Half-closes after the request, so that the gateway closes after its answer. */
function exchange(port: number, request: string): Promise<string> {
  return new Promise((done, fail) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    let text = '';
    socket.setTimeout(10_000, () => fail(new Error(`No answer to ${request}`)));
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => (text += chunk));
    socket.on('error', fail);
    socket.on('close', () => done(text));
    socket.end(request, 'latin1');
  });
}

/** Names of the times and ids of one exchange, which no other has. */
const ITS_OWN =
  /^(?:date|x-request-id|traceparent|retry-after|x-ratelimit-reset|connection|content-length)$/i;
const comparable = (fields: readonly HeaderField[]): string[] =>
  fields
    .filter(({ name }) => !ITS_OWN.test(name))
    .map(({ name, value }) => `${name}: ${value.replace(/;t=\d+$/, '')}`);

/** Fields that these backends do not send. */
const isGatewayField = (field: string): boolean =>
  /^(?:via|vary|access-control-[a-z-]+|(?:x-)?ratelimit[a-z-]*|deprecation|sunset|x-headgate[a-z-]*):/i.test(
    field,
  );

function compare(input: ExplainInput, explained: Explanation, real: Real): void {
  const shown = JSON.stringify({ input, explained, real });
  if (explained.outcome === 'forwarded') {
    if (real.seen === undefined) {
      // Only the backend itself can still fail the request.
      expect([real.status, explained.upstream?.url], shown).toEqual([
        502,
        expect.stringContaining(`:${dead}/`),
      ]);
      return;
    }
    expect(real.status, shown).toBe(200);
    if (explained.upstream?.url.includes(`:${dead}/`) === true) {
      // Told is where a request goes first; where a backend is gone, another candidate stands in.
      expect(
        explained.candidates.filter(({ candidate, chosen }) => candidate && !chosen).length,
        shown,
      ).toBeGreaterThan(0);
      return;
    }
    expect(explained.upstream, shown).toMatchObject({
      method: real.seen.method,
      url: `http://127.0.0.1:${origin.port}${real.seen.url}`,
    });
    expect(comparable(explained.upstream?.headers ?? []), shown).toEqual(comparable(redacted(real.seen)));
    // Beside the fields of the backend itself: each of the gateway's own, and none that it does not foretell.
    const own = comparable(real.fields);
    expect(own, shown).toEqual(expect.arrayContaining(comparable(explained.response.headers)));
    expect(comparable(explained.response.headers), shown).toEqual(
      expect.arrayContaining(own.filter(isGatewayField)),
    );
    return;
  }
  expect(real.seen, shown).toBeUndefined();
  // A chunked body is measured while it comes: a backend that is gone may be noticed first.
  if (
    explained.code === 'body_too_large' &&
    'Transfer-Encoding' in (input.headers ?? {}) &&
    real.status === 502
  )
    return;
  expect(real.status, shown).toBe(explained.response.status);
  expect(comparable(real.fields), shown).toEqual(comparable(explained.response.headers));
  const [told, foretold] = [retryAfter(real.fields), retryAfter(explained.response.headers)];
  expect(told === undefined, shown).toBe(foretold === undefined);
  // A second may end between the two.
  expect(Math.abs((told ?? 0) - (foretold ?? 0)), shown).toBeLessThanOrEqual(1);
  if (real.code !== null) expect(real.code, shown).toBe(explained.code);
  const stops = explained.stages.filter(({ verdict }) => verdict === 'denied' || verdict === 'answered');
  expect(stops, shown).toHaveLength(1);
  if (explained.outcome === 'denied') expect(explained.fix, shown).not.toBeNull();
}

/** Seconds. */
function retryAfter(fields: readonly HeaderField[]): number | undefined {
  const field = fields.find(({ name }) => name.toLowerCase() === 'retry-after');
  return field && Number(field.value);
}

function redacted({ rawHeaders }: Seen): HeaderField[] {
  const fields: HeaderField[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    fields.push({ name, value: /^authorization$/i.test(name) ? '********' : value });
  }
  return fields;
}

it('agree on random requests in random configurations', { timeout: 60_000 + RUNS * 1_000 }, async () => {
  const outcomes = new Map<string, number>();
  const property = fc.asyncProperty(
    configurations,
    requestsFor(jwts),
    async (draft: Draft, requests: readonly ExplainInput[]) => {
      const proxy = await startGateway(draft);
      try {
        for (const input of requests) {
          const explained = await proxy.explain(input);
          compare(input, explained, await send(proxy.port, input));
          const verdicts = new Set(explained.stages.map(({ verdict }) => verdict));
          const key = explained.code ?? explained.outcome;
          for (const name of verdicts.has('would_deny') ? [key, 'would_deny'] : [key])
            outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
        }
        expect(proxy.defects).toEqual([]);
      } finally {
        await proxy.close();
      }
    },
  );
  // One in some hundred times, a run meets one of them too seldom.
  const isReached = (): boolean => REACHED.every((name) => outcomes.has(name));
  for (let round = 0; round < ROUNDS_MAX && !isReached(); round++) {
    await fc.assert(property, {
      numRuns: RUNS,
      ...(SEED === undefined ? {} : { seed: Number(SEED) }),
      ...(PATH === undefined ? {} : { path: PATH }),
    });
  }
  // A generator that reaches nothing would prove nothing.
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(REACHED));
});

it('agree on a request for which there is no place under the cap', async () => {
  const holding = await startHoldingOrigin();
  const policy = { concurrency: { max: 1 } };
  const proxy = await startProxy(oneRoute({ backendPort: holding.port, policy }), {
    options: { halfClose: true },
  });
  try {
    const input = { method: 'GET', url: '/a/v1/x' };
    const held = send(proxy.port, input);
    await untilHolds(() => holding.waiting === 1, 'the place is taken');
    const explained = await proxy.explain(input);
    expect(explained).toMatchObject({
      outcome: 'denied',
      code: 'concurrency_limited',
      limits: [{ kind: 'concurrency', limit: 1, remaining: 0, admitted: false }],
    });
    compare(input, explained, await send(proxy.port, input));
    expect(holding.come).toBe(1);
    holding.answerAll();
    expect((await held).status).toBe(200);
    expect((await proxy.explain(input)).outcome).toBe('forwarded');
  } finally {
    await proxy.close();
    await holding.close();
  }
});

it('agree on a body that is too long for a route whose breaker is open: a buffer finds that first', async () => {
  const policy = { buffer_request_bytes: 1_000, max_body_bytes: 8 };
  const revision = { circuit_breaker: { failures: 1, open_secs: 3_600 } };
  const proxy = await startProxy(oneRoute({ backendPort: dead, policy, revision }), {
    options: { halfClose: true },
  });
  try {
    expect((await send(proxy.port, { method: 'GET', url: '/a/v1/x' })).status).toBe(502);
    for (const [bytes, code] of [
      [9, 'body_too_large'],
      [3, 'circuit_open'],
    ] as const) {
      const headers = { 'Transfer-Encoding': 'chunked' };
      const input = { method: 'POST', url: '/a/v1/x', headers, body_bytes: bytes };
      const explained = await proxy.explain(input);
      expect(explained.code).toBe(code);
      compare(input, explained, await send(proxy.port, input));
    }
  } finally {
    await proxy.close();
  }
});
