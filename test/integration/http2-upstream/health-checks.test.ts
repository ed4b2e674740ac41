/** Health checks of backends by their `backend_protocol`, each on a connection of its own. */
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { compileBackend } from '../../../src/config/backend.ts';
import { probe, PROBE_DEFAULTS } from '../../../src/control/health/probe.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { Revision } from '../../../src/model/resources.ts';
import { startHttp2Backend } from '../../support/backends/http2-backend.ts';
import { CA, TLS_PAIR } from '../../support/clients/http2-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { untilHolds } from '../../support/measure/until.ts';
import { oneRoute, revisionOf, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();
const overTls = { backend_scheme: 'https', backend_host: 'localhost', backend_tls: { ca: CA } } as const;

async function check(port: number, changes: Partial<Revision>) {
  const proxy = await startProxy(oneRoute({ backendPort: port }));
  closers.push(() => proxy.close());
  const backend = compileBackend(revisionOf('v', port, changes));
  const result = await probe(backend, '/healthz?deep=1', PROBE_DEFAULTS, proxy.pool, systemClock);
  return { ...result, left: () => proxy.pool.http2.count };
}

it.each([true, false])('asks over HTTP/2, and keeps no connection (TLS: %s)', async (tls) => {
  const asked: string[] = [];
  const backend = await startHttp2Backend(
    (stream, headers) => {
      asked.push(`${headers[':method']} ${headers[':path']} ${headers['user-agent']}`);
      stream.respond({ ':status': asked.length === 1 ? 204 : 500 }, { endStream: true });
    },
    tls ? { tls: TLS_PAIR } : {},
  );
  closers.push(() => backend.close());
  const changes: Partial<Revision> = { backend_protocol: 'h2', ...(tls && overTls) };
  const good = await check(backend.port, changes);
  expect(good).toMatchObject({ ok: true, status: 204 });
  expect(await check(backend.port, changes)).toMatchObject({ ok: false, status: 500 });
  expect(asked[0]).toBe('GET /healthz?deep=1 headgate-health-check');
  await untilHolds(() => backend.sessions.size === 0 && good.left() === 0, 'the end of the connections');
});

it('asks over what the backend chooses, and finds out that it speaks no HTTP/2', async () => {
  const server = https.createServer(TLS_PAIR, (_request, response) => void response.end('fine'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  const { port } = server.address() as AddressInfo;
  expect(await check(port, { ...overTls, backend_protocol: 'auto' })).toMatchObject({
    ok: true,
    status: 200,
  });
  expect(await check(port, { ...overTls, backend_protocol: 'h2' })).toMatchObject({
    ok: false,
    error: expect.stringContaining('does not speak HTTP/2'),
  });
});
