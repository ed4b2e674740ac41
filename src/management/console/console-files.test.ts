import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startManagement, type Fixture } from '../management.fixture.ts';
import { readConsoleFiles } from './console-files.ts';

let folder = '';
let api: Fixture | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-console-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<title>console</title>');
  writeFileSync(join(folder, 'assets/index-1.js'), 'run()');
  writeFileSync(join(folder, 'assets/index-1.js.gz'), gzipSync('run()'));
  writeFileSync(join(folder, 'secret.txt'), 'secret');
});
afterEach(async () => {
  await api?.[Symbol.asyncDispose]();
  api = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> {
  api ??= await startManagement({ console: await readConsoleFiles(folder) });
  return fetch(`${api.url}${path}`, { method, headers });
}

const PAGE = { accept: 'text/html,*/*' };

describe('the console at / of the management port', () => {
  it('is the document for every page of it', async () => {
    for (const path of ['/', '/apps', '/apps/billing/versions/v1', '/apps?q=x']) {
      const answer = await get(path, PAGE);
      expect([path, answer.status, await answer.text()]).toEqual([path, 200, '<title>console</title>']);
      expect(answer.headers.get('cache-control')).toBe('no-cache');
      expect(answer.headers.get('x-frame-options')).toBe('DENY');
      const policy = answer.headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('unsafe');
    }
  });

  it('is no answer to programs, nor below the API', async () => {
    const others = ['/apps', '/api/v1/nothing', '/api', '/metrics/x', '/assets/nothing.js', '/secret.txt'];
    for (const path of others) {
      const answer = await get(path, path === '/apps' || path === '/secret.txt' ? {} : PAGE);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
    expect((await get('/', PAGE, 'POST')).status).toBe(404);
  });

  it('has files with a hash in the name for good, compressed where that is wanted', async () => {
    const plain = await get('/assets/index-1.js', { 'accept-encoding': 'gzip;q=0, identity' });
    expect(plain.headers.get('cache-control')).toContain('immutable');
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(plain.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(await plain.text()).toBe('run()');
    const small = await get('/assets/index-1.js', { 'accept-encoding': 'br, GZIP' });
    expect(small.headers.get('content-encoding')).toBe('gzip');
    expect(await small.text()).toBe('run()');
    const tag = small.headers.get('etag') ?? '';
    expect((await get('/assets/index-1.js', { 'if-none-match': `"x", ${tag}` })).status).toBe(304);
    const head = await get('/assets/index-1.js', { 'accept-encoding': 'identity' }, 'HEAD');
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '5', '']);
  });

  it.each(['/assets/../secret.txt', '/..%2fsecret.txt', '/assets/%2e%2e/%2e%2e/etc/passwd', '//etc/passwd'])(
    'takes no name for a path of the disk: %s',
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(404);
      expect(await answer.text()).not.toContain('secret"');
    },
  );

  it('does not read a folder that is not a build', async () => {
    await expect(readConsoleFiles(join(folder, 'assets'))).rejects.toThrow('no index.html');
    await expect(readConsoleFiles(join(folder, 'nothing'))).rejects.toThrow('ENOENT');
    // A link to nothing is an error that names the file, not a page that is missing later.
    symlinkSync('/nothing', join(folder, 'assets/gone.css'));
    await expect(readConsoleFiles(folder)).rejects.toThrow('gone.css');
  });
});
