/**
 * What the gateway keeps of the head before, on a client's and on a backend's connection, never shows: random requests
 * one after the other on one connection, and each of them also on connections of its own to a gateway that keeps
 * nothing, are the same bytes to the backend and are answered with the same bytes.
 */
import type * as net from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../../support/closers.ts';
import type { Policy } from '../../../src/policy/registry.ts';
import { TestKeys } from '../../../src/policy/test-fixtures.ts';
import type { ProxyOptions } from '../../../src/proxy/options.ts';
import { HEAD_RETAINED_MS } from '../../../src/proxy/downstream/head-pool.ts';
import { Random } from '../../fuzz/random.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { oneRoute, revisionOf, startProxy, type RouteSetup, type TestProxy } from '../../support/proxy.ts';
import { connectRaw, type RawClient } from '../../support/clients/raw-client.ts';
import { steadily } from '../../support/measure/steady.ts';

const REQUESTS = 250;
const SEED = Number(process.env['REPEATED_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const { token, key } = new TestKeys().create({ app_id: 'app-1', scopes: [] });

/** First lines of requests but for the number of the response that they ask for. */
const LINES = [
  (n: number) => `GET /a/v1/open/${n} HTTP/1.1`,
  (n: number) => `GET /a/v1/keyed/${n} HTTP/1.1`,
  (n: number) => `GET /a/v1/lent/${n} HTTP/1.1`,
  (n: number) => `HEAD /a/v1/open/${n} HTTP/1.1`,
  (n: number) => `GET /a/v1/open/${n}?q=//%2F HTTP/1.0`,
  (n: number) => `POST /a/v1/keyed/${n} HTTP/1.1`,
  (n: number) => `POST http://other.example:81/a/v1/open/${n} HTTP/1.1`,
  (n: number) => `GET /a/v1/open/Upper.case%41/${n} HTTP/1.1`,
  (n: number) => `GET /a/v1/open/../${n} HTTP/1.1`,
];

const SECTIONS = [
  'Host: a.example\r\n',
  'Host: a.example\r\nConnection: keep-alive\r\nAccept: */*\r\n',
  `Host: a.example\r\nAuthorization: Bearer ${token}\r\nOrigin: https://a.example\r\n`,
  'Host: a.example\r\nAuthorization: Bearer other\r\nOrigin: https://b.example\r\n',
  `Host: a.example\r\nauthorization:Bearer  ${token}\r\nX-Mine: 1\r\nConnection: x-mine, keep-alive\r\n`,
  `Host: a.example\r\nX-Forwarded-For: 192.0.2.9\r\nForwarded: for=x\r\nX-Request-Id: mine\r\ntraceparent: ${TRACE}\r\ntracestate: a=b\r\n`,
  'Host: b.example\r\nVia: 1.0 other\r\nTE: trailers\r\nX_Forwarded_For: 1\r\nCookie: a=b\r\n',
  'Host: a.example\r\nContent-Length: 4\r\n',
  'Host: a.example\r\nContent-Length: 4\r\nExpect: 100-continue\r\n',
  'Host: a.example\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n',
  'Host: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n',
  `Host: a.example\r\nX-Long: ${'x'.repeat(1_100)}\r\n`,
  'Host: a.example\r\nAccept: */*\r\nExpect: something\r\n',
  'Accept: */*\r\n',
];

const KEYED: Policy = {
  auth: { auth_type: 'api_key' },
  cors: { allowed_origins: ['https://a.example'] },
  rate_limit: { enabled: true, requests: 1_000_000, window_seconds: 86_400 },
};

const PLAIN = 'Server: s\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Length: 5\r\n';
const MANAGED =
  'Access-Control-Allow-Origin: *\r\nRateLimit: "x";r=1\r\nSet-Cookie: a=b\r\nVia: 1.1 b\r\nDate: D\r\n' +
  'Content-Length: 5\r\nConnection: X-Hop\r\nX-Hop: 1\r\n';
/** Responses of the backend: the head, and the body of those that have one. */
const RESPONSES: readonly (readonly [head: string, body: string])[] = [
  [`HTTP/1.1 200 OK\r\n${PLAIN}\r\n`, 'hello'],
  [`HTTP/1.1 200 Fine\r\n${PLAIN}\r\n`, 'hello'],
  [`HTTP/1.1 404 OK\r\n${PLAIN}\r\n`, 'hello'],
  [`HTTP/1.1 304 Not Modified\r\n${PLAIN}\r\n`, ''],
  [`HTTP/1.0 200 OK\r\n${PLAIN}\r\n`, 'hello'],
  ['HTTP/1.1 204 No Content\r\nDate: D\r\n\r\n', ''],
  ['HTTP/1.1 200 OK\r\nDate: D\r\nTransfer-Encoding: chunked\r\n\r\n', '5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', 'hello'],
  [`HTTP/1.1 200 OK\r\n${MANAGED}\r\n`, 'hello'],
  [`HTTP/1.1 103 Early Hints\r\n${PLAIN.slice(0, -19)}\r\nHTTP/1.1 200 OK\r\n${MANAGED}\r\n`, 'hello'],
];

const closers = closeAfterEach();

interface Side {
  readonly proxy: TestProxy;
  /** Requests as the backend got them. */
  readonly seen: string[];
  /** Requests whose fields were known from the one before. */
  repeated: number;
}

async function startSide(trusted: boolean, options: Partial<ProxyOptions> = {}): Promise<Side> {
  const seen: string[] = [];
  const unread = new Map<net.Socket, number>();
  const origin = await startRawOrigin((socket, received) => {
    let from = unread.get(socket) ?? 0;
    for (let end = requestEnd(received, from); end > 0; end = requestEnd(received, from)) {
      const request = received.slice(from, end);
      from = end;
      seen.push(request);
      const [head, body] = RESPONSES[Number(/(\d)(?:\?\S*)? HTTP/.exec(request)?.[1])] ?? ['', ''];
      socket.write(request.startsWith('HEAD ') ? head : head + body);
    }
    unread.set(socket, from);
  });
  closers.push(() => origin.close());
  const side: Side = { proxy: undefined as unknown as TestProxy, seen, repeated: 0 };
  const change = oneRoute({
    backendPort: origin.port,
    keys: [key],
    revision: { preserve_host: true, circuit_breaker: { failures: 1_000_000 } },
    endpoints: [
      { method: 'GET', path: '/keyed/{n}', policy_override: KEYED },
      { method: 'POST', path: '/keyed/{n}', policy_override: KEYED },
      { path: '/lent/{n}', policy_override: { auth: { auth_type: 'api_key', forward_credentials: true } } },
    ],
  });
  const proxy = await startProxy(change, {
    options,
    trustedProxies: trusted ? ['127.0.0.1'] : [],
    observer: {
      exchangeEnded: ({ connection }) => {
        if (connection.head.isRepeated) side.repeated += 1;
      },
    },
  });
  closers.push(() => proxy.close());
  return Object.assign(side, { proxy });
}

/**
 * Where the request that begins at `from` ends, 0 when it is not complete. The gateway writes its fields in one way.
 */
function requestEnd(text: string, from: number): number {
  const headEnd = text.indexOf('\r\n\r\n', from) + 4;
  if (headEnd < 4) return 0;
  const head = text.slice(from, headEnd);
  if (head.includes('\r\nTransfer-Encoding: chunked\r\n')) {
    const last = text.indexOf('\r\n\r\n', headEnd);
    return last < 0 ? 0 : last + 4;
  }
  const end = headEnd + Number(/\r\nContent-Length: (\d+)/.exec(head)?.[1] ?? 0);
  return text.length < end ? 0 : end;
}

function bodyFor(section: string): string {
  if (section.includes('chunked')) return '4\r\nbody\r\n0\r\n\r\n';
  return section.includes('Content-Length') ? 'body' : '';
}

/** Without what is new in every request. */
function comparable(text: string | undefined): string | undefined {
  return text
    ?.replaceAll(/[0-9a-f]{16}-[0-9a-z]+(?=["\r])/g, 'ID')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'BACKEND')
    .replaceAll(/traceparent: (\S+)/g, (line, value: string) => (value === TRACE ? line : 'traceparent: T'))
    .replaceAll(/Date: \w+, [^\r]+ GMT/g, 'Date: D')
    .replaceAll(/(RateLimit[^\r]*)/g, (line) => line.replaceAll(/\d+/g, '#'));
}

/**
 * Sends one request and gives all that comes back; whether the client can be used again.
 * @param restMs how long the body waits behind its head
 */
async function ask(
  client: RawClient,
  request: string,
  restMs = 0,
): Promise<{ answer: string; isOpen: boolean }> {
  const before = client.received().length;
  const headEnd = request.indexOf('\r\n\r\n') + 4;
  client.write(restMs > 0 ? request.slice(0, headEnd) : request);
  if (restMs > 0) {
    await new Promise((done) => setTimeout(done, restMs));
    client.write(request.slice(headEnd));
  }
  const { headers } = await client.response({ head: request.startsWith('HEAD ') });
  const isOpen = headers['connection'] !== 'close';
  if (!isOpen) await client.closed();
  return { answer: client.received().slice(before), isOpen };
}

describe.each([
  ['a client', false],
  ['a trusted proxy', true],
])('of %s', (_name, trusted) => {
  it(`requests of seed ${SEED} are what they are alone`, async () => {
    const random = new Random(SEED);
    const keeping = await startSide(trusted);
    const alone = await startSide(trusted);
    // Connections to the backend are not pooled: each serves one request.
    alone.proxy.pool.close();
    let client = await connectRaw(keeping.proxy.port);
    let section = SECTIONS[0] ?? '';
    let response = 0;
    for (let count = 0; count < REQUESTS; count++) {
      if (random.oneIn(4)) section = random.pick(SECTIONS);
      if (random.oneIn(3)) response = random.below(RESPONSES.length);
      const request = `${random.pick(LINES)(response)}\r\n${section}\r\n${bodyFor(section)}`;
      const seenBefore = keeping.seen.length;
      const restMs = bodyFor(section) !== '' && random.oneIn(2) ? 10 : 0;
      const { answer, isOpen } = await ask(client, request, restMs);
      const single = await connectRaw(alone.proxy.port);
      const expected = await ask(single, request, restMs);
      single.end();
      const about = `request ${count}: ${request}`;
      expect(comparable(answer), about).toBe(comparable(expected.answer));
      expect(keeping.seen.length, about).toBe(alone.seen.length);
      const seen = keeping.seen.slice(seenBefore).map(comparable);
      expect(seen, about).toEqual(alone.seen.slice(seenBefore).map(comparable));
      if (isOpen) continue;
      client.end();
      client = await connectRaw(keeping.proxy.port);
    }
    client.end();
    expect(keeping.repeated).toBeGreaterThan(REQUESTS / 10);
    expect(alone.repeated).toBe(0);
    expect([...keeping.proxy.defects, ...alone.proxy.defects]).toEqual([]);
  });
});

describe('what changes while fields are repeated shows in the next request', () => {
  const fields = `Host: a.example\r\nAuthorization: Bearer ${token}\r\n`;
  const auth = { auth_type: 'api_key' } as const;
  const keyed = { keys: [key], policy: { auth } };
  const limited: Policy = {
    auth,
    rate_limit: { enabled: true, requests: 1_000_000, window_seconds: 86_400 },
  };

  interface Change {
    readonly before: Partial<RouteSetup>;
    readonly after: Partial<RouteSetup>;
    readonly targets?: readonly [before: string, after: string];
    /** Of the request as the backend gets it, or of the response. */
    readonly line: RegExp;
    readonly values: readonly [before: string | undefined, after: string | undefined];
  }
  const changes: Record<string, Change> = {
    'the name of a key': {
      before: keyed,
      after: { ...keyed, keys: [{ ...key, name: 'renamed' }] },
      line: /^X-Headgate-Key-Name: (.*)$/m,
      values: [key.name, 'renamed'],
    },
    'the need for a key': {
      before: {},
      after: keyed,
      line: /^X-Headgate-Key-Id: (.*)$/m,
      values: [undefined, key.id],
    },
    'that credentials are passed on': {
      before: keyed,
      after: { ...keyed, policy: { auth: { ...auth, forward_credentials: true } } },
      line: /^Authorization: Bearer (.*)$/m,
      values: [undefined, token],
    },
    'the host that backends are told': {
      before: { revision: { preserve_host: false } },
      after: { revision: { preserve_host: true } },
      line: /^Host: ([a-z.]*)/m,
      values: ['', 'a.example'],
    },
    'the host of a target': {
      before: {},
      after: {},
      targets: ['http://one.example/a/v1/0', 'http://two.example/a/v1/0'],
      line: /^X-Forwarded-Host: (.*)$/m,
      values: ['one.example', 'two.example'],
    },
    'a limit of the gateway, beside which that of the backend is not told': {
      before: keyed,
      after: { ...keyed, policy: limited },
      line: /^RateLimit: ("backend")/m,
      values: ['"backend"', undefined],
    },
  };

  it.each(Object.entries(changes))('%s', async (_name, { before, after, targets, line, values }) => {
    const seen: string[] = [];
    const origin = await startRawOrigin((socket, received) => {
      if (!received.endsWith('\r\n\r\n')) return;
      seen.push(received);
      socket.write('HTTP/1.1 200 OK\r\nDate: D\r\nRateLimit: "backend"\r\nContent-Length: 5\r\n\r\nhello');
    });
    closers.push(() => origin.close());
    const proxy = await startProxy(oneRoute({ backendPort: origin.port, ...before }));
    closers.push(() => proxy.close());
    const client = await connectRaw(proxy.port);
    const [targetBefore, targetAfter] = targets ?? ['/a/v1/0', '/a/v1/0'];
    const valueOf = async (target: string): Promise<string | undefined> => {
      const { answer } = await ask(client, `GET ${target} HTTP/1.1\r\n${fields}\r\n`);
      const last = (seen.at(-1) ?? '').split('\r\n\r\n').at(-2);
      return line.exec(`${last}\r\n${answer}`)?.[1]?.trim();
    };
    for (let count = 0; count < 4; count++) expect(await valueOf(targetBefore)).toBe(values[0]);
    proxy.apply({ ...oneRoute({ backendPort: origin.port, ...after }), configVersion: 2 });
    for (let count = 0; count < 3; count++) expect(await valueOf(targetAfter)).toBe(values[1]);
    client.end();
  });
});

describe('requests of one connection that go to changing backends', () => {
  /** Two revisions, one that gets the host of the client, and two targets of another revision. */
  const BACKENDS = ['one.test', 'two.test', 'kept.test', 'first.test', 'second.test'] as const;
  const SHARE = { ...KEYED, auth: undefined };

  it(`name the host of their backend or of their client, and are otherwise alike (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    const seen: { readonly backend: number; readonly request: string }[] = [];
    const origins = await Promise.all(
      BACKENDS.map((_, backend) =>
        startRawOrigin((socket, received) => {
          if (!received.endsWith('\r\n\r\n')) return;
          seen.push({ backend, request: received.split('\r\n\r\n').at(-2) ?? '' });
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        }),
      ),
    );
    for (const origin of origins) closers.push(() => origin.close());
    const targets = BACKENDS.map((host, index) => ({ host, port: origins[index]?.port ?? 0, weight: 100 }));
    const revisions = [targets.slice(0, 1), targets.slice(1, 2), targets.slice(2, 3), targets.slice(3)].map(
      (own, index) => ({
        revision: revisionOf('ver-1', own[0]?.port ?? 0, {
          id: `rev-${index}`,
          revision: `r${index}`,
          backend_host: own[0]?.host ?? '',
          preserve_host: index === 2,
          targets: own.length > 1 ? own : null,
          // Another policy for the same fields.
          default_policy: index === 1 ? SHARE : null,
        }),
        endpoints: [],
      }),
    );
    const change = oneRoute({ backendPort: 0 });
    const apps = change.apps.map(({ app, versions }) => ({
      app,
      versions: versions.map(({ version }) => ({ version, revisions })),
    }));
    let repeated = 0;
    const proxy = await startProxy(
      { ...change, apps },
      {
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
        observer: {
          exchangeEnded: ({ connection }) => {
            if (connection.head.isRepeated) repeated += 1;
          },
        },
      },
    );
    closers.push(() => proxy.close());
    const hostsSeen = new Set<string>();
    const restOf = new Map<string, string>();
    let client = await connectRaw(proxy.port);
    for (let count = 0; count < REQUESTS; count++) {
      const host = random.pick(['a.example', 'b.example:81']);
      const section = random.pick(['', 'Accept: */*\r\n', `traceparent: ${TRACE}\r\n`]);
      const request = `GET /a/v1/x HTTP/1.1\r\nHost: ${host}\r\n${section}\r\n`;
      for (let times = 1 + random.below(6); times > 0; times--) {
        await ask(client, request);
        const { backend, request: head } = seen.at(-1) ?? { backend: -1, request: '' };
        const own = `${BACKENDS[backend]}:${origins[backend]?.port}`;
        const expected = BACKENDS[backend] === 'kept.test' ? host : own;
        expect(/^Host: (.*)$/m.exec(head)?.[1]?.trim(), request).toBe(expected);
        hostsSeen.add(expected);
        const rest = comparable(`${head}\r\n`.replace(/^Host: .*$/m, 'Host'));
        expect(rest, request).toBe(restOf.get(request) ?? rest);
        restOf.set(request, rest ?? '');
      }
      if (random.oneIn(10)) {
        client.end();
        client = await connectRaw(proxy.port);
      }
    }
    client.end();
    expect(hostsSeen.size).toBe(BACKENDS.length + 1);
    expect(repeated).toBeGreaterThan(REQUESTS);
    expect(proxy.defects).toEqual([]);
  });
});

describe('a client that rests', () => {
  const request = 'GET /a/v1/open/0 HTTP/1.1\r\nHost: a.example\r\n\r\n';

  it(
    'is let go after the keep-alive time, however many requests it has sent',
    steadily(async () => {
      const { proxy } = await startSide(false, { keepaliveTimeoutMs: 200 });
      const client = await connectRaw(proxy.port);
      for (let count = 0; count < 3; count++) expect((await ask(client, request)).isOpen).toBe(true);
      await client.closed(3_000);
    }),
  );

  it(
    'has its fields kept for a while only, and its connection for the keep-alive time',
    steadily(async () => {
      const keepaliveTimeoutMs = HEAD_RETAINED_MS + 500;
      const side = await startSide(false, { keepaliveTimeoutMs });
      const client = await connectRaw(side.proxy.port);
      const repeated: number[] = [];
      const askOnce = async (): Promise<void> => {
        await ask(client, request);
        repeated.push(side.repeated);
      };
      // Those of the first request are not kept: many never send another one.
      for (let count = 0; count < 4; count++) await askOnce();
      await new Promise((done) => setTimeout(done, HEAD_RETAINED_MS + 250));
      for (let count = 0; count < 2; count++) await askOnce();
      expect(repeated).toEqual([0, 0, 1, 2, 2, 3]);
      const restMs = performance.now();
      await client.closed(keepaliveTimeoutMs + 3_000);
      expect(performance.now() - restMs).toBeGreaterThan(keepaliveTimeoutMs - 100);
    }),
  );
});
