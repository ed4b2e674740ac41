/**
 * Backends on Unix sockets: requests over HTTP/1.1, HTTP/2 and TLS reach them, health checks and explanations name
 * them, a backend that starts again on its path is found, and no socket outside of the folders is connected to.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { createService, problem, request, revisionPath, type Fields } from '../../support/traffic.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const pem = (name: string): string => readFileSync(join(TLS, name), 'utf8');

let gateway: TestGateway;
let root: string;
let folder: string;
const servers: Server[] = [];

beforeAll(async () => {
  // Short: the path of a socket has at most 107 bytes.
  root = mkdtempSync(join(tmpdir(), 'hg-unix-'));
  folder = join(root, 'apps');
  mkdirSync(folder);
  gateway = await startGateway({ env: { GATEWAY_PROXY__UNIX_SOCKETS_FROM: folder } });
});
afterAll(async () => {
  await gateway.stop();
  for (const server of servers) server.close();
  rmSync(root, { recursive: true });
});

const answer =
  (name: string) =>
  (request_: http.IncomingMessage, response: http.ServerResponse): void =>
    void response.end(`${name} ${request_.method} ${request_.url} ${request_.headers.host}`);

async function listen<S extends Server>(server: S, path: string): Promise<S> {
  await new Promise<void>((done) => server.listen(path, done));
  servers.push(server);
  return server;
}

const serve = (path: string, name: string): Promise<http.Server> =>
  listen(http.createServer(answer(name)), path);
const at = (path: string, more: Fields = {}) => ({
  revision: { backend_host: `unix:${path}`, backend_port: undefined, ...more },
});

describe('a revision with a Unix socket', () => {
  it('gets requests with their bodies, and Host localhost, or that of the client', async () => {
    const path = join(folder, 'plain.sock');
    await serve(path, 'plain');
    await createService(gateway, 'plain', 1, at(path));
    expect((await request(gateway, '/plain/v1/x?y=1')).body).toBe('plain GET /x?y=1 localhost');
    const posted = await request(gateway, '/plain/v1/x', { method: 'POST', body: 'abc' });
    expect(posted.body).toBe('plain POST /x localhost');
    await gateway.must('PATCH', revisionPath('plain'), { preserve_host: true });
    expect((await request(gateway, '/plain/v1/x')).body).toBe('plain GET /x gateway.test');
    const [version] = await gateway.must('GET', '/apps/plain/tree');
    expect(version.revisions).toMatchObject([{ backend: `http://unix:${path}` }]);
  });

  it('gets them over HTTP/2 by prior knowledge', async () => {
    const path = join(folder, 'h2.sock');
    const server = http2.createServer();
    server.on('stream', (stream, headers) => {
      stream.respond({ ':status': 200 });
      stream.end(`h2 ${headers[':path']} ${headers[':authority']}`);
    });
    await listen(server, path);
    await createService(gateway, 'h2', 1, at(path, { backend_protocol: 'h2' }));
    expect((await request(gateway, '/h2/v1/x')).body).toBe('h2 /x localhost');
  });

  it('gets them over TLS, verified as localhost, or the name of its settings', async () => {
    const path = join(folder, 'tls.sock');
    await listen(
      https.createServer({ cert: pem('backend.pem'), key: pem('backend-key.pem') }, answer('tls')),
      path,
    );
    const backend_tls = { ca: pem('ca.pem') };
    await createService(gateway, 'tls', 1, at(path, { backend_scheme: 'https', backend_tls }));
    expect((await request(gateway, '/tls/v1/x')).body).toBe('tls GET /x localhost');
    // The certificate is for localhost, which counts without a name, and not for every name.
    await gateway.must('PATCH', revisionPath('tls'), {
      backend_tls: { server_name: 'other.test' },
    });
    expect(problem(await request(gateway, '/tls/v1/x')).code).toBe('upstream_connect_failed');
  });

  it('is found when its backend starts again, and answered with 502 meanwhile', async () => {
    const path = join(folder, 'again.sock');
    const first = await serve(path, 'first');
    await createService(gateway, 'again', 1, at(path));
    expect((await request(gateway, '/again/v1/x')).body).toContain('first');
    first.closeAllConnections();
    await new Promise((done) => first.close(done));
    const refused = problem(await request(gateway, '/again/v1/x'));
    expect(refused).toMatchObject({ status: 502, code: 'upstream_connect_failed' });
    expect(JSON.stringify(refused), 'no path of this machine is told to clients').not.toContain(folder);
    await serve(path, 'second');
    expect((await request(gateway, '/again/v1/x')).body).toContain('second');
  });

  it('is checked, and named by health, explain, metrics and log', async () => {
    const path = join(folder, 'checked.sock');
    await serve(path, 'checked');
    await createService(
      gateway,
      'checked',
      1,
      at(path, { health_check_path: '/health', circuit_breaker: { probe: { interval_ms: 200 } } }),
    );
    const health = async () => gateway.must('GET', `${revisionPath('checked')}/health`);
    await expect.poll(async () => (await health()).last_probe?.ok).toBe(true);
    const explained = await explain(gateway, { method: 'GET', url: '/checked/v1/x' });
    expect(JSON.stringify(explained)).toContain(`unix:${path}`);
  });

  it('shares requests with others, and gives them up to them when it ends', async () => {
    const paths = ['a', 'b'].map((name) => join(folder, `${name}.sock`));
    const [first] = await Promise.all(paths.map((path, index) => serve(path, String(index))));
    const targets = paths.map((path) => ({ host: `unix:${path}` }));
    await createService(gateway, 'two', 1, {
      app: { default_policy: { retries: { max: 2 } } },
      revision: {
        backend_host: undefined,
        backend_port: undefined,
        targets,
        load_balancing: { algorithm: 'round_robin' },
      },
    });
    const bodies = async (): Promise<Set<string>> => {
      const answers = new Set<string>();
      for (let index = 0; index < 6; index += 1)
        answers.add((await request(gateway, '/two/v1/x')).body.slice(0, 1));
      return answers;
    };
    expect(await bodies()).toEqual(new Set(['0', '1']));
    const metrics = String((await gateway.api('GET', '//metrics')).body);
    expect(new Set(metrics.match(/(?<=[{,]target=")[^"]+/g))).toEqual(
      new Set(paths.map((path) => `unix:${path}`)),
    );
    first?.closeAllConnections();
    await new Promise((done) => first?.close(done));
    expect(await bodies()).toEqual(new Set(['1']));
    const same = { ...targets[0], port: 81 };
    const doubled = await gateway.api('PATCH', revisionPath('two'), { targets: [targets[0], same] });
    expect([doubled.status, doubled.body.errors?.[0]?.detail]).toEqual([
      422,
      'is the same place as target 0',
    ]);
  });
});

describe('a socket that may not be reached', () => {
  const written = async (host: string): Promise<[number, string]> => {
    const { status, body } = await gateway.api('PATCH', revisionPath('plain'), { backend_host: host });
    return [status, body.errors?.[0]?.detail ?? ''];
  };

  it('is refused when it is written', async () => {
    expect(await written('unix:/var/run/docker.sock')).toEqual([
      422,
      'cannot be connected to: unix:/var/run/docker.sock is not below a folder of GATEWAY_PROXY__UNIX_SOCKETS_FROM',
    ]);
    expect(await written(`unix:${folder}/../other.sock`)).toEqual([
      422,
      expect.stringMatching(/absolute path/),
    ]);
    expect(await written(`unix:${folder}/${'x'.repeat(107)}`)).toEqual([
      422,
      expect.stringMatching(/107 bytes/),
    ]);
    expect(await written('unix:relative.sock')).toEqual([422, expect.stringMatching(/absolute path/)]);
  });

  it('is not reached through a link in a folder', async () => {
    const outside = join(root, 'outside.sock');
    await serve(outside, 'outside');
    const path = join(folder, 'link.sock');
    const inside = await serve(path, 'inside');
    await createService(gateway, 'link', 1, at(path));
    expect((await request(gateway, '/link/v1/x')).body).toContain('inside');
    renameSync(path, `${path}.before`);
    symlinkSync(outside, path);
    // So that the next request needs another.
    inside.closeAllConnections();
    await expect.poll(async () => (await request(gateway, '/link/v1/x')).status).toBe(502);
    expect(problem(await request(gateway, '/link/v1/x')).code).toBe('upstream_denied');
  });

  it('is refused without the setting', async () => {
    const other = await startGateway();
    try {
      await other.must('POST', '/apps', { name: 'a', slug: 'a', gateway_path: '/a' });
      await other.must('POST', '/apps/a/versions', { version: 'v1' });
      const { status, body } = await other.api('POST', '/apps/a/versions/v1/revisions', {
        revision: 'r1',
        backend_scheme: 'http',
        backend_host: `unix:${folder}/plain.sock`,
      });
      expect(status).toBe(422);
      expect(body.errors[0]).toMatchObject({
        pointer: '/backend_host',
        detail: expect.stringContaining('GATEWAY_PROXY__UNIX_SOCKETS_FROM, which is not set'),
      });
    } finally {
      await other.stop();
    }
  });
});
