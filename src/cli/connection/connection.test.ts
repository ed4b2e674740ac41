/** Reaching a gateway: what each flag, variable and context does, and one clear line for each way it can fail. */
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startManagement, type Fixture } from '../../management/management.fixture.ts';
import { headgate, type Outcome } from '../cli.fixture.ts';
import type { CliIo } from '../io.ts';

const PEM = resolve(import.meta.dirname, '../../../test/support/tls');
const CA = join(PEM, 'ca.pem');

let api: Fixture;
let folder: string;
const servers: Server[] = [];
beforeAll(async () => {
  api = await startManagement();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-context-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  for (const server of servers.splice(0)) server.close();
});

const contexts = (): string => join(folder, 'headgate', 'contexts.json');
/** With nothing from the environment but the folder of the contexts, and what is given. */
const run = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin = '',
  terminal: Partial<CliIo> = {},
): Promise<Outcome> =>
  headgate(
    api,
    args,
    { HEADGATE_SERVER: '', HEADGATE_TOKEN: '', XDG_CONFIG_HOME: folder, ...env },
    stdin,
    terminal,
  );
const ask = (...flags: string[]): Promise<Outcome> =>
  run(['config', 'dump', ...flags], { HEADGATE_TOKEN: ADMIN_TOKEN });
const add = (name: string, ...flags: string[]): Promise<Outcome> =>
  run(['context', 'add', name, '--server', api.url, '--token-file', '-', ...flags], {}, `${ADMIN_TOKEN}\n`);

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function web(answer: RequestListener): Promise<string> {
  const server: HttpServer = createServer(answer);
  return `http://127.0.0.1:${await listening(server)}`;
}

/** The management API behind TLS. @returns the port */
function tlsBefore(certificate: string): Promise<number> {
  const server = createTlsServer(
    {
      cert: readFileSync(join(PEM, `${certificate}.pem`)),
      key: readFileSync(join(PEM, `${certificate}-key.pem`)),
    },
    (client) => {
      const upstream = connect(api.port, '127.0.0.1');
      client.pipe(upstream).pipe(client);
      client.on('error', () => upstream.destroy());
      upstream.on('error', () => client.destroy());
    },
  );
  server.on('tlsClientError', () => undefined);
  return listening(server);
}

describe('headgate context', () => {
  it('stores a gateway in a file of its owner alone, and uses it', async () => {
    const { code, out } = await add('local');
    expect([code, out]).toEqual([0, `Context local is stored in ${contexts()}, and is the current one.\n`]);
    expect(statSync(contexts()).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(contexts())).mode & 0o777).toBe(0o700);
    expect(await run(['config', 'dump'])).toEqual({ code: 0, out: 'apps: {}\n', err: '' });
  });

  it('asks for the token on a terminal', async () => {
    const asked: string[] = [];
    const askSecret = async (question: string) => (asked.push(question), ADMIN_TOKEN);
    const args = ['context', 'add', 'local', '--server', api.url];
    expect((await run(args, {}, '', { askSecret })).code).toBe(0);
    expect(asked).toEqual([`Admin token for ${api.url}: `]);
    expect((await run(['config', 'dump'])).code).toBe(0);
  });

  it('chooses by flag, then environment, then the current one', async () => {
    await add('good');
    await run(['context', 'add', 'bad', '--server', api.url, '--token-file', '-'], {}, 'wrong-token');
    const dump = (args: string[], env = {}): Promise<number> =>
      run(['config', 'dump', ...args], env).then(({ code }) => code);
    expect(await dump([])).toBe(0);
    expect(await dump([], { HEADGATE_CONTEXT: 'bad' })).toBe(1);
    expect(await dump(['--context', 'good'], { HEADGATE_CONTEXT: 'bad' })).toBe(0);
    expect(await dump([], { HEADGATE_TOKEN: 'wrong' })).toBe(1);
    expect(await dump(['--context', 'good'], { HEADGATE_TOKEN: 'wrong' })).toBe(0);
    expect(await dump(['--context', 'good', '--token', 'wrong'])).toBe(1);
    expect((await run(['context', 'use', 'bad'])).code).toBe(0);
    expect(await dump([])).toBe(1);
  });

  it('says where a refused token comes from', async () => {
    await run(['context', 'add', 'bad', '--server', api.url, '--token-file', '-'], {}, 'wrong-token');
    const said = async (args: string[], env = {}): Promise<string> =>
      (await run(['config', 'dump', ...args], env, 'wrong')).err.replace(/.*; the token is from /, '');
    expect(await said([])).toBe('the context');
    expect(await said([], { HEADGATE_TOKEN: 'wrong' })).toBe('HEADGATE_TOKEN');
    expect(await said(['--context', 'bad'], { HEADGATE_TOKEN: 'wrong' })).toBe('the context');
    expect(await said(['--token', 'wrong'])).toBe('--token');
    expect(await said(['--token-file', '-'])).toBe('standard input');
  });

  it('sends the token of a context to no other server', async () => {
    await add('local');
    const seen: unknown[] = [];
    const other = await web((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    });
    const { code, err } = await run(['config', 'dump', '--server', other]);
    expect([code, seen]).toEqual([1, []]);
    expect(err).toContain('An admin token for');
  });

  it('lists without tokens, and removes', async () => {
    await add('local', '--ca', CA);
    await add('other');
    const { out } = await run(['context', 'list']);
    expect(out.split('\n').map((line) => line.trim().split(/\s+/))).toEqual([
      ['NAME', 'CA', 'SERVER'],
      ['*', 'local', CA, api.url],
      ['other', '-', api.url],
      [''],
    ]);
    const json = (await run(['context', 'list', '--output', 'json'])).out;
    expect(JSON.parse(json)).toHaveLength(2);
    expect(out + json).not.toContain(ADMIN_TOKEN);
    expect((await run(['context', 'remove', 'local'])).out).toBe(
      'Context local is removed. No context is the current one.\n',
    );
    expect(readFileSync(contexts(), 'utf8').split(ADMIN_TOKEN)).toHaveLength(2);
    expect((await run(['config', 'dump', '--context', 'local'])).err).toBe(
      'There is no context "local"; there are: other',
    );
  });

  it('refuses a file that others can read, with the command that repairs it', async () => {
    await add('local');
    chmodSync(contexts(), 0o644);
    const { code, err } = await run(['config', 'dump']);
    expect(code).toBe(1);
    expect(err).toContain(`its mode 0644 lets others use it; run: chmod 600 '${contexts()}'`);
    const flags = ['--server', api.url, '--token', ADMIN_TOKEN];
    expect((await run(['config', 'dump', ...flags])).code).toBe(0);
  });

  it.each([
    ['{"headgate_contexts": 1', 'it is not JSON'],
    ['{"headgate_contexts": 2, "contexts": {}}', 'it has no contexts of this version'],
    ['{"headgate_contexts": 1, "contexts": {"a": {"token": "t"}}}', 'one of its contexts is not valid'],
    ['[]', 'it has no contexts of this version'],
  ])('refuses the file %s', async (text, message) => {
    mkdirSync(dirname(contexts()));
    writeFileSync(contexts(), text, { mode: 0o600 });
    const { code, err } = await add('local');
    expect([code, err.includes(message), readFileSync(contexts(), 'utf8')]).toEqual([1, true, text]);
  });

  it('keeps the old file when the new one cannot be written', async () => {
    await add('local');
    const before = readFileSync(contexts(), 'utf8');
    // A folder in place of the new file: also root cannot write that.
    mkdirSync(`${contexts()}.new`);
    writeFileSync(join(`${contexts()}.new`, 'file'), '');
    const { code, err } = await add('other');
    expect([code, err]).toEqual([1, expect.stringContaining(`Cannot write ${contexts()}: `)]);
    expect(readFileSync(contexts(), 'utf8')).toBe(before);
  });

  it.each([['../x'], [''], ['a b'], ['__proto__\n']])('refuses the name %j', async (name) => {
    expect((await add(name)).code).toBe(1);
    expect(existsSync(contexts())).toBe(false);
  });
});

describe('the server', () => {
  it.each([
    ['127.0.0.1:9090', '--server "127.0.0.1:9090" is not an http or https URL'],
    ['', '--server "" is not an http or https URL'],
    ['ftp://gateway', 'is not an http or https URL'],
    ['http://admin:hunter2@gateway', '--server has a user or a password'],
    ['admin:hunter2@gateway', '--server "gateway" is not'],
    ['http://gateway/?token=hunter2', 'has a query or a fragment'],
  ])('%j is refused in one line', async (server, message) => {
    const { code, err } = await ask('--server', server);
    expect([code, err.trim().split('\n').length]).toEqual([1, 1]);
    expect(err).toContain(message);
    expect(err).not.toContain('hunter2');
  });

  it('may stand below a path', async () => {
    const url = await web((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: { config: { path: request.url } } }));
    });
    expect((await ask('--server', `${url}/gateways/one/`)).out).toBe('path: /gateways/one/api/v1/config\n');
  });

  it('may be given as the address of the API', async () => {
    const url = await web((request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ data: { config: { path: request.url } } }));
    });
    for (const suffix of ['/api/v1', '/api/v1/'])
      expect((await ask('--server', url + suffix)).out).toBe('path: /api/v1/config\n');
    expect((await ask('--server', `${url}/of/api/v1`)).out).toBe('path: /of/api/v1/config\n');
  });

  it('is not the port for client traffic', async () => {
    const url = await web((_request, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ code: 'no_route', detail: 'No gateway_path for this host is a prefix' }));
    });
    expect((await ask('--server', url)).err).toBe(
      `${url} is a port for client traffic; expected the address of the management API in --server`,
    );
  });

  it('is reported in one line when it cannot be reached', async () => {
    const gone = createTcpServer();
    const port = await listening(gone);
    gone.close();
    const { code, err } = await ask('--server', `http://127.0.0.1:${port}`);
    expect([code, err]).toEqual([
      1,
      `Cannot reach the gateway at http://127.0.0.1:${port}: the connection was refused; expected a gateway that runs and listens there (--server, HEADGATE_SERVER or a context gives the address)`,
    ]);
  });

  it.each<[string, RequestListener, string]>([
    [
      'a redirect',
      (_request, response) => response.writeHead(302, { location: 'https://login.test/?next=x' }).end(),
      'answers with a redirect to https://login.test/ (302), which is not followed',
    ],
    [
      'a page',
      (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<p>'),
      'does not answer as the management API of Headgate does (200, text/html)',
    ],
    [
      'an error page',
      (_request, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<p>'),
      'does not answer as the management API of Headgate does (502, text/html)',
    ],
    [
      'half an answer',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"data"');
        setTimeout(() => response.destroy(), 20);
      },
      'broke off: the connection was closed without an answer',
    ],
    ['no answer', () => undefined, 'no answer within 0.2 s'],
    ['half a head', ({ socket }) => void socket.end('HTTP/1.1 200'), 'Cannot reach the gateway at'],
    ['nothing in HTTP', ({ socket }) => void socket.end('SSH-2.0-x\r\n'), 'it does not answer in HTTP'],
  ])('is told of in one line when it gives %s', async (_what, answer, message) => {
    const timeout = message.includes('0.2 s') ? '0.2' : '20';
    const { code, err } = await ask('--server', await web(answer), '--timeout', timeout);
    expect([code, err.split('\n').length]).toEqual([1, 1]);
    expect(err).toContain(message);
    expect(err).not.toContain(ADMIN_TOKEN);
  });

  it('is warned of when the token would cross a network without encryption', async () => {
    const { err } = await ask('--server', 'http://192.0.2.1:9', '--timeout', '0.1');
    expect(err).toMatch(/^warning: the admin token goes to http:\/\/192\.0\.2\.1:9 without encryption/);
    const local = await ask('--server', `http://localhost:${api.port}`);
    expect(local.err).not.toContain('warning');
  });
});

describe('a server with TLS', () => {
  it('is trusted by the authority that --ca, the environment or the context names', async () => {
    const server = `https://backend.test:${await tlsBefore('backend')}`.replace('backend.test', 'localhost');
    expect((await ask('--server', server, '--ca', CA)).err).toBe('');
    expect(
      (await run(['config', 'dump', '--server', server], { HEADGATE_TOKEN: ADMIN_TOKEN, HEADGATE_CA: CA }))
        .code,
    ).toBe(0);
    const args = ['context', 'add', 'tls', '--server', server, '--token-file', '-', '--ca', CA];
    await run(args, {}, ADMIN_TOKEN);
    expect(await run(['config', 'dump'])).toMatchObject({ code: 0, err: '' });
  });

  it.each([
    ['backend', [], 'was not issued by a trusted authority'],
    ['expired', ['--ca', CA], 'its certificate has expired'],
    ['other', ['--ca', CA], 'its certificate is for another name'],
    ['backend', ['--ca', '/dev/null'], 'it is not a regular file'],
    ['backend', ['--ca', join(PEM, 'README.md')], 'it has no PEM certificate'],
  ])('%s.pem with %j is told of in one line', async (certificate, flags, message) => {
    const server = `https://localhost:${await tlsBefore(certificate)}`;
    const { code, err } = await ask('--server', server, ...flags);
    expect([code, err.split('\n').length]).toEqual([1, 1]);
    expect(err).toContain(message);
  });

  it('is distinguished from a server without TLS', async () => {
    expect((await ask('--server', `https://127.0.0.1:${api.port}`)).err).toContain(
      'it does not answer in TLS',
    );
    const port = await tlsBefore('backend');
    expect((await ask('--server', `http://127.0.0.1:${port}`)).err).toMatch(/Cannot reach the gateway/);
  });
});

describe('the token', () => {
  it.each([
    [['--token-file', '-'], '  \n', 'There is no token in standard input'],
    [['--token-file', '-'], 'two words', 'The admin token is not valid'],
    [['--token-file', '/nowhere'], '', 'Cannot read /nowhere: it does not exist'],
    [['--token', 'a', '--token-file', '-'], 'b', 'both given'],
    [['--token', 'line\nbreak'], '', 'The admin token is not valid'],
    [['--token', 'from-a-file\n'], '', 'without spaces; it ends in a line break'],
    [[], '', 'An admin token for http://127.0.0.1:9090 is needed'],
  ])('%j is refused', async (flags, stdin, message) => {
    const { code, err } = await run(['config', 'dump', ...flags], {}, stdin);
    expect([code, err]).toEqual([1, expect.stringContaining(message)]);
    expect(err).not.toContain('two words');
  });

  it('comes from a file', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, `${ADMIN_TOKEN}\n`);
    expect((await run(['config', 'dump', '--server', api.url, '--token-file', file])).code).toBe(0);
  });

  it('is in no message when it is refused', async () => {
    const { code, err } = await run(['config', 'dump', '--server', api.url, '--token', 'wrong-token-value']);
    expect(code).toBe(1);
    expect(err).not.toContain('wrong-token-value');
  });
});
