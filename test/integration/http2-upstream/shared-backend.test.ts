/** Apps that have the same backend of HTTP/2: what one of them has under way leaves room for the other. */
import * as http from 'node:http';
import { expect, it } from 'vitest';
import { startHttp2Backend } from '../../support/backends/http2-backend.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { until } from '../../support/measure/until.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

it('requests that hang at a backend of two apps leave streams for the other app', async () => {
  let hanging = 0;
  const server = await startHttp2Backend((stream, headers) => {
    if (headers[':path'] === '/hang') hanging += 1;
    else {
      stream.respond({ ':status': 200 });
      stream.end('well');
    }
  });
  closers.push(() => server.close());
  const revision = { backend_protocol: 'h2' } as const;
  const one = oneRoute({ backendPort: server.port, revision });
  const other = oneRoute({
    backendPort: server.port,
    app: { id: 'app-2', slug: 'b', gateway_path: '/b' },
    version: { id: 'ver-2' },
    revision: { ...revision, id: 'rev-2' },
  });
  const proxy = await startProxy(
    { ...one, apps: [...one.apps, ...other.apps] },
    { options: { maxUpstreamHttp2Streams: 100, maxUpstreamHttp2Connections: 1, maxUpstreamQueue: 20 } },
  );
  closers.push(() => proxy.close());
  const agent = new http.Agent({ maxSockets: Infinity });
  closers.push(async () => agent.destroy());
  const statusOf = (path: string): Promise<number> =>
    new Promise((resolve) => {
      const request = http.get({ port: proxy.port, path, agent }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on('error', () => resolve(0));
    });
  // More than there are streams and places in the queue.
  const statuses = Array.from({ length: 150 }, () => statusOf('/a/v1/hang'));
  await until(() => hanging === 90);
  await until(() => proxy.context.permits.waiting === 20);
  for (let count = 0; count < 10; count++) expect(await statusOf('/b/v1/x')).toBe(200);
  agent.destroy();
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([0, 503]));
});
