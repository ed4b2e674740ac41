/** Real clients on the TLS port of the real program: curl with HTTP/2 and HTTP/1.1, a browser, and several workers. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBrowser } from '../../support/clients/browser.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { connectHttp2, request } from '../../support/clients/http2-client.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';

const run = promisify(execFile);
const TLS = resolve(import.meta.dirname, '../../support/tls');

describe('HTTP/2 with real clients', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-http2-'));
  let gateway: TestGateway;
  let origin: Origin;
  let base: string;

  beforeAll(async () => {
    origin = await startOrigin((incoming, response, body) => {
      if (incoming.url === '/page') {
        response.setHeader('content-type', 'text/html');
        return void response.end('<title>page</title>');
      }
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify({ via: incoming.headers.via, method: incoming.method, length: body.length }),
      );
    });
    gateway = await startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_PROXY__TLS__CERT_FILE: join(TLS, 'backend.pem'),
        GATEWAY_PROXY__TLS__KEY_FILE: join(TLS, 'backend-key.pem'),
      },
    });
    base = `https://localhost:${gateway.proxyPort}`;
    await gateway.must('POST', '/apps', { name: 'Files', slug: 'files', gateway_path: '/files' });
    await gateway.must('POST', '/apps/files/versions', { version: 'v1' });
    await gateway.must('POST', '/apps/files/versions/v1/revisions', {
      revision: 'r1',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: origin.port,
      is_current: true,
    });
  }, 120_000);

  afterAll(async () => {
    await gateway?.stop();
    await origin?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function curl(
    ...args: readonly string[]
  ): Promise<{ readonly version: string; readonly body: string }> {
    const out = join(folder, 'body');
    const own = ['-sS', '--cacert', join(TLS, 'ca.pem'), '-o', out, '-w', '%{http_version} %{http_code}'];
    const { stdout } = await run('curl', [
      ...own,
      '--resolve',
      `localhost:${gateway.proxyPort}:127.0.0.1`,
      ...args,
    ]);
    return { version: stdout, body: readFileSync(out, 'utf8') };
  }

  it('curl speaks HTTP/2 and HTTP/1.1 on the same port', async () => {
    const second = await curl('--http2', `${base}/files/v1/x`);
    expect(second.version).toBe('2 200');
    expect(JSON.parse(second.body)).toMatchObject({
      via: expect.stringMatching(/^2\.0 headgate-/),
      method: 'GET',
    });
    const first = await curl('--http1.1', `${base}/files/v1/x`);
    expect(first.version).toBe('1.1 200');
    expect(JSON.parse(first.body)).toMatchObject({ via: expect.stringMatching(/^1\.1 headgate-/) });
  });

  it('curl uploads a large file, with a length and without', async () => {
    const file = join(folder, 'upload');
    writeFileSync(file, Buffer.alloc(3_000_000, 'x'));
    for (const extra of [[], ['-H', 'content-length:']]) {
      const { version, body } = await curl(
        '--http2',
        '-X',
        'PUT',
        '--data-binary',
        `@${file}`,
        ...extra,
        `${base}/files/v1/x`,
      );
      expect([version, JSON.parse(body).length]).toEqual(['2 200', 3_000_000]);
    }
  });

  it('curl reads the gateway’s own errors', async () => {
    const { version, body } = await curl('--http2', `${base}/nowhere`);
    expect([version, JSON.parse(body).code]).toEqual(['2 404', 'no_route']);
  });

  it('a browser speaks it', async () => {
    const chromium = await startBrowser();
    try {
      const page = await chromium.browser.newPage({ ignoreHTTPSErrors: true });
      await page.goto(`${base}/files/v1/page`);
      expect(await page.title()).toBe('page');
      const protocol = await page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol");
      expect(protocol).toBe('h2');
    } finally {
      await chromium.close();
    }
  });

  it('is in the access log, and changes of the configuration apply to open connections', async () => {
    const client = await connectHttp2(gateway.proxyPort);
    expect((await request(client, { ':path': '/files/v1/x' })).status).toBe(200);
    await gateway.must('PATCH', '/apps/files/versions/v1', { status: 'retired' });
    expect((await request(client, { ':path': '/files/v1/x' })).status).toBe(410);
    await gateway.must('PATCH', '/apps/files/versions/v1', { status: 'active' });
    expect((await request(client, { ':path': '/files/v1/x' })).status).toBe(200);
    await client.close();
    const isLogged = (): boolean =>
      gateway
        .logs()
        .some(({ msg, protocol, status }) => msg === 'access' && protocol === 'HTTP/2' && status === 410);
    for (let n = 0; n < 100 && !isLogged(); n++) await new Promise((done) => setTimeout(done, 50));
    expect(isLogged()).toBe(true);
  });
});
