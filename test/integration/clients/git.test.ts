/**
 * Git over smart HTTP through the gateway: a clone, a push and a fetch of a repository of more than 12 MB, with
 * `git http-backend` behind it and an API key in front. Git sends what few clients do: long chunked uploads,
 * compressed request bodies, and a probe before it uploads.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startGitBackend, type GitBackend } from '../../support/backends/git-backend.ts';
import { generateRepository, gitClient, type GitClient } from '../../support/programs/git-repository.ts';
import { requireProgram } from '../../support/programs/programs.ts';

const REPOSITORY_MEBIBYTES = 12;
const REPOSITORY_BYTES_MIN = 12_000_000;

let folder: string;
let git: GitClient;
let backend: GitBackend;
let gateway: TestGateway;
let credentials: string;
const local = (name: string): string => join(folder, name);
const remote = (): string => `${gateway.proxy}/git/v1/project.git`;
const pathsOf = (from: number): string[] =>
  backend.requests.slice(from).map(({ method, url }) => `${method} ${url}`);

beforeAll(async () => {
  const program = requireProgram('git');
  folder = mkdtempSync(join(tmpdir(), 'headgate-git-'));
  for (const name of ['home', 'server', 'work']) mkdirSync(local(name));
  git = gitClient(program, local('home'));
  await Promise.all([
    generateRepository(git, local('work'), REPOSITORY_MEBIBYTES),
    git.must(local('server'), 'init', '--quiet', '--bare', '--initial-branch=main', 'project.git'),
  ]);
  backend = await startGitBackend(program, local('server'), local('home'));
  gateway = await startGateway();
  await gateway.must('POST', '/apps', {
    name: 'Git',
    slug: 'git',
    gateway_path: '/git',
    default_policy: { auth: { auth_type: 'api_key', required: true } },
  });
  await gateway.must('POST', '/apps/git/versions', { version: 'v1' });
  await gateway.must('POST', '/apps/git/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: backend.port,
    is_current: true,
  });
  const { token } = await gateway.must('POST', '/apps/git/tokens', { name: 'git', scopes: [] });
  credentials = `http.extraHeader=Authorization: Bearer ${token}`;
});

afterAll(async () => {
  await gateway?.stop();
  await backend?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

// Each step works on what the one before has left, as a developer would.
describe('git', { timeout: 90_000 }, () => {
  it('push uploads more than 12 MB, chunked, and the server has every reference', async () => {
    await git.must(local('work'), 'remote', 'add', 'origin', remote());
    await git.must(local('work'), '-c', credentials, 'push', '--quiet', '--all', 'origin');
    const upload = backend.requests.find((request) => request.bytes > REPOSITORY_BYTES_MIN);
    expect(upload).toMatchObject({
      method: 'POST',
      url: '/project.git/git-receive-pack',
      transferEncoding: 'chunked',
      contentLength: undefined,
    });
    await git.must(local('work'), '-c', credentials, 'push', '--quiet', '--tags', 'origin');
    const server = join(local('server'), 'project.git');
    expect(await references(server)).toEqual(await references(local('work')));
    await git.must(server, 'fsck', '--strict');
  });

  it('clone brings the same content, and its compressed request arrives as it was sent', async () => {
    const from = backend.requests.length;
    await git.must(folder, '-c', credentials, 'clone', '--quiet', remote(), 'clone');
    expect(await git.must(local('clone'), 'status', '--porcelain')).toBe('');
    await git.must(local('clone'), 'fsck', '--strict');
    expect(treeOf(local('clone'))).toEqual(treeOf(local('work')));
    expect(await tagsOf(local('clone'))).toEqual(await tagsOf(local('work')));
    const wants = backend.requests.slice(from).filter((request) => request.contentEncoding === 'gzip');
    expect(wants).toHaveLength(1);
    expect(wants[0]).toMatchObject({ url: '/project.git/git-upload-pack', protocol: 'version=2' });
    expect(pathsOf(from)[0]).toBe('GET /project.git/info/refs?service=git-upload-pack');
  });

  it('a small push and a fetch of what is new go through', async () => {
    const from = backend.requests.length;
    writeFileSync(join(local('clone'), 'new.txt'), 'new\n');
    await git.must(local('clone'), 'add', 'new.txt');
    await git.must(local('clone'), 'commit', '--quiet', '--message', 'new');
    await git.must(local('clone'), '-c', credentials, 'push', '--quiet', 'origin', 'main');
    const push = backend.requests.slice(from).find(({ url }) => url.endsWith('/git-receive-pack'));
    expect(push?.transferEncoding).toBeUndefined();
    expect(Number(push?.contentLength)).toBe(push?.bytes);
    await git.must(local('work'), '-c', credentials, 'pull', '--quiet', 'origin', 'main');
    expect(readFileSync(join(local('work'), 'new.txt'), 'utf8')).toBe('new\n');
  });

  it('a shallow clone and the older protocol go through', async () => {
    await git.must(folder, '-c', credentials, 'clone', '--quiet', '--depth=1', remote(), 'shallow');
    expect(treeOf(local('shallow'))).toEqual(treeOf(local('work')));
    const from = backend.requests.length;
    const old = ['-c', 'protocol.version=0', '-c', credentials];
    await git.must(folder, ...old, 'clone', '--quiet', '--bare', remote(), 'old.git');
    expect(await references(local('old.git'))).toEqual(await references(local('work')));
    expect(backend.requests.slice(from).every(({ protocol }) => protocol === undefined)).toBe(true);
  });

  it('without the key git is refused, and the backend hears nothing', async () => {
    const from = backend.requests.length;
    const { code, stderr } = await git.try(folder, 'clone', remote(), 'refused');
    expect(code).toBe(128);
    expect(stderr).toMatch(/could not read Username|Authentication failed/);
    expect(pathsOf(from)).toEqual([]);
  });
});

/** Name and object of every branch and tag; an object's name is the hash of all that it leads to. */
async function references(repository: string): Promise<string[]> {
  const format = '--format=%(objectname) %(refname)';
  const text = await git.must(repository, 'for-each-ref', format, 'refs/heads', 'refs/tags');
  return text.trim().split('\n');
}

async function tagsOf(repository: string): Promise<string[]> {
  return (await references(repository)).filter((line) => line.includes('refs/tags/'));
}

/** Hash of every file of a working tree, by its path. */
function treeOf(working: string): Record<string, string> {
  const names = readdirSync(working, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(working.length + 1))
    .filter((name) => !name.startsWith('.git/'))
    .sort();
  return Object.fromEntries(
    names.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(working, name)))
        .digest('hex'),
    ]),
  );
}
