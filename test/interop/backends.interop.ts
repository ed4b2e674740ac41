/**
 * Backends in Go, Python and Java, asked by curl directly and through the gateway, over HTTP/1.1 and HTTP/2: both times
 * the answer has the same status, content and fields of its own.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { requireProgram, run } from '../support/programs/programs.ts';
import { goSource, javaSource, source } from './programs/install.ts';
import { CA_FILE, startInteropGateway, type InteropGateway } from './programs/interop-gateway.ts';
import { startServer, type ServerProcess } from './programs/server-process.ts';

type Command = readonly [program: string, ...args: string[]];

const BACKENDS: readonly (readonly [name: string, protocol: 'http1' | 'h2', (port: string) => Command])[] = [
  ['Go net/http', 'http1', (port) => [goSource('backend.go'), port]],
  ['Go net/http', 'h2', (port) => [goSource('backend.go'), port]],
  ['Python http.server', 'http1', (port) => [requireProgram('python3'), source('backend.py'), port]],
  [
    'the HttpServer of the JDK',
    'http1',
    (port) => [
      requireProgram('java', 'default-jre-headless'),
      '-cp',
      javaSource('Backend.java'),
      'Backend',
      port,
    ],
  ],
];

let folder = '';
let large = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-backends-'));
  large = join(folder, 'large');
  writeFileSync(large, Buffer.alloc(1_000_000, 'abcdefghi\n'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SHORT = ['--data-binary', 'some text'];
/** Arguments of curl, with the path last. */
const REQUESTS: readonly (readonly [string, () => readonly string[]])[] = [
  ['GET', () => ['/echo']],
  ['HEAD', () => ['-I', '/echo']],
  ['OPTIONS', () => ['-X', 'OPTIONS', '/echo']],
  ['POST', () => [...SHORT, '/echo']],
  ['PUT', () => ['-X', 'PUT', ...SHORT, '/echo']],
  ['PATCH', () => ['-X', 'PATCH', ...SHORT, '/echo']],
  ['DELETE', () => ['-X', 'DELETE', '/echo']],
  ['an upload of a megabyte', () => ['-T', large, '/echo']],
  ['an upload in chunks', () => ['-T', large, '-H', 'Transfer-Encoding: chunked', '/echo']],
  ['an upload that waits for 100', () => ['-T', large, '-H', 'Expect: 100-continue', '/echo']],
  ['a form', () => ['-F', 'a=1', '-F', `file=@${large}`, '-o', '/dev/null', '/echo']],
  ['a response in pieces', () => ['/pieces']],
  ['two megabytes', () => ['/big']],
  ['204', () => ['/empty']],
  ['404', () => ['/missing']],
  ['302', () => ['/moved']],
];
const CLIENTS = [
  ['HTTP/1.1', ['--http1.1']],
  ['HTTP/2', ['--http2']],
] as const;

describe.each(BACKENDS)('%s over %s', (_name, protocol, commandOf) => {
  let backend: ServerProcess | undefined;
  let gateway: InteropGateway | undefined;

  beforeAll(async () => {
    const port = await freePort();
    const [program, ...args] = commandOf(String(port));
    backend = await startServer(port, program, args);
    gateway = await startInteropGateway({ backend_protocol: protocol, backend_port: port });
  });
  afterAll(async () => {
    await gateway?.stop();
    await backend?.stop();
  });

  async function curl(base: string, args: readonly string[]): Promise<Record<string, unknown>> {
    const body = join(folder, 'body');
    const heads = join(folder, 'heads');
    const about = '%{http_code} %{size_download}';
    const usual = ['-sS', '-m', '30', '--cacert', CA_FILE, '-o', body, '-D', heads, '-w', about];
    const { code, stdout, stderr } = await run(requireProgram('curl'), [
      ...usual,
      ...args.slice(0, -1),
      `${base}${args.at(-1)}`,
    ]);
    const fields = readFileSync(heads, 'latin1').split(/\r?\n/);
    const own = fields.filter((line) => /^(?:x-method|x-length|location):/i.test(line));
    return { code, stderr, about: stdout, own: own.map((line) => line.toLowerCase()).toSorted() };
  }

  describe.each(CLIENTS)('to clients of %s', (version, flags) => {
    it.each(REQUESTS)('%s', async (what, argsOf) => {
      const isChunked = what === 'an upload in chunks' && version === 'HTTP/2';
      // There is no such field in HTTP/2.
      const args = argsOf().filter((text) => !isChunked || !/^(?:-H|Transfer-Encoding: chunked)$/.test(text));
      const prior = protocol === 'h2' ? ['--http2-prior-knowledge'] : [];
      const direct = await curl(`http://127.0.0.1:${backend?.port}`, [...prior, ...args]);
      const through = await curl(`https://localhost:${gateway?.tlsPort}`, [...flags, ...args]);
      expect(direct['code'], String(direct['stderr'])).toBe(0);
      expect(through).toEqual(direct);
    });
  });
});
