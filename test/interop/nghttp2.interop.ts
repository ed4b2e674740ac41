/**
 * The programs of nghttp2: nghttpd as a backend, asked by curl directly and through the gateway, and h2load as client.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { installedProgram } from '../support/programs/install-program.ts';
import { requireProgram, run } from '../support/programs/programs.ts';
import {
  CA_FILE,
  CERT_FILE,
  KEY_FILE,
  startInteropGateway,
  type InteropGateway,
} from './programs/interop-gateway.ts';
import { startServer, type ServerProcess } from './programs/server-process.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-nghttp2-'));
  writeFileSync(join(folder, 'small'), 'some text\n');
  writeFileSync(join(folder, 'large'), Buffer.alloc(3_000_000, 'abcdefghi\n'));
  writeFileSync(join(folder, 'nothing'), '');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Arguments of curl, with the path last. nghttpd sends the content of a POST back. */
const REQUESTS: readonly (readonly [string, () => readonly string[]])[] = [
  ['GET', () => ['/small']],
  ['GET of three megabytes', () => ['/large']],
  ['GET of a file without content', () => ['/nothing']],
  ['HEAD', () => ['-I', '/large']],
  ['304', () => ['-z', join(folder, 'small'), '/small']],
  ['404', () => ['/missing']],
  ['an upload', () => ['--data-binary', `@${join(folder, 'small')}`, '/small']],
  ['an upload of three megabytes', () => ['--data-binary', `@${join(folder, 'large')}`, '/small']],
];

describe.each(['http', 'https'] as const)('nghttpd over %s', (scheme) => {
  let backend: ServerProcess | undefined;
  let gateway: InteropGateway | undefined;

  beforeAll(async () => {
    const port = await freePort();
    const usual = ['-d', folder, '--echo-upload', '-a', '127.0.0.1'];
    const secure = scheme === 'https' ? [KEY_FILE, CERT_FILE] : [];
    const args = [...usual, ...(scheme === 'https' ? [] : ['--no-tls']), String(port), ...secure];
    backend = await startServer(port, installedProgram('nghttpd', 'nghttp2-server'), args);
    gateway = await startInteropGateway({
      backend_scheme: scheme,
      backend_protocol: scheme === 'https' ? 'auto' : 'h2',
      backend_host: 'localhost',
      backend_port: port,
      ...(scheme === 'https' && { backend_tls: { ca: readFileSync(CA_FILE, 'utf8') } }),
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await backend?.stop();
  });

  async function curl(base: string, args: readonly string[]): Promise<unknown> {
    const [heads, body] = [join(folder, 'heads'), join(folder, 'body')];
    const usual = ['-sS', '-m', '30', '--cacert', CA_FILE, '-o', body, '-D', heads, '-w', '%{http_code}'];
    const all = [...usual, ...args.slice(0, -1), `${base}${args.at(-1)}`];
    const { code, stdout, stderr } = await run(requireProgram('curl'), all);
    expect(code, stderr).toBe(0);
    const own = readFileSync(heads, 'latin1').match(/^(?:content-length|content-type|last-modified):.*$/gim);
    return {
      status: stdout,
      own: own?.map((line) => line.toLowerCase()).toSorted(),
      body: args.includes('-I') ? '' : readFileSync(body, 'latin1'),
    };
  }

  it.each(REQUESTS)('%s', async (_what, argsOf) => {
    const prior = scheme === 'http' ? '--http2-prior-knowledge' : '--http2';
    const direct = await curl(`${scheme}://localhost:${backend?.port}`, [prior, ...argsOf()]);
    const through = `https://localhost:${gateway?.tlsPort}`;
    expect(await curl(through, ['--http1.1', ...argsOf()])).toEqual(direct);
    expect(await curl(through, ['--http2', ...argsOf()])).toEqual(direct);
  });

  const LOADS: readonly (readonly [string, string, () => readonly string[]])[] = [
    ['5,000 requests', '/small', () => ['-n', '5000', '-c', '10', '-m', '50']],
    [
      '100 uploads of three megabytes',
      '/small',
      () => ['-n', '100', '-c', '4', '-m', '5', '-d', join(folder, 'large')],
    ],
    ['small windows', '/large', () => ['-n', '20', '-c', '2', '-m', '5', '-w', '12', '-W', '14']],
    ['HTTP/1.1', '/small', () => ['-n', '2000', '-c', '10', '--h1']],
  ];
  it.each(LOADS)('h2load: %s', async (_what, path, argsOf) => {
    const args = argsOf();
    const bases = [`http://localhost:${gateway?.proxyPort}`, `https://localhost:${gateway?.tlsPort}`];
    for (const base of bases) {
      const { stdout } = await run(installedProgram('h2load', 'nghttp2-client'), [...args, `${base}${path}`]);
      const wanted = args[1];
      expect(stdout).toMatch(new RegExp(`${wanted} succeeded, 0 failed, 0 errored, 0 timeout`));
      expect(stdout).toMatch(new RegExp(`status codes: ${wanted} 2xx`));
    }
  });
});
