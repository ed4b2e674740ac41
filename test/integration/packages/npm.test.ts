/**
 * The npm packages as they are published, installed by npm into an empty folder without network: what is in them, and
 * that their files alone are a gateway. The versions of npm and Node.js that they are installed with, and a registry,
 * are in test/packages/npm.packages.ts.
 */
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { componentsOf, expectChecksums } from '../../support/programs/bill-of-materials.ts';
import { expectWorkingGateway } from '../../support/programs/installed-gateway.ts';
import { madePackages, PACKAGING_MS } from '../../support/programs/made-package.ts';
import { brokenLinksBelow } from '../../support/programs/page-links.ts';
import { run, type Finished } from '../../support/programs/programs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const OWN_NODE_PACKAGE = `headgate-node-linux-${process.arch}`;

let folder = '';
/** Of the npm package, in the folder into which npm has installed it and its Node.js. */
let installed = '';
/** By npm. */
let said: Finished;
const headgate = (): string => join(installed, 'bin/headgate');
const fileOf = (path: string): string => readFileSync(join(installed, path), 'utf8');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-npm-package-'));
  const place = join(folder, 'place');
  mkdirSync(place);
  const tarballs = madePackages(folder, 'npm', 'npm-node');
  // With an empty cache: everything comes from the two files.
  const env = { PATH: process.env['PATH'] ?? '', HOME: join(folder, 'home') };
  const options = ['--offline', '--no-audit', '--no-fund', '--no-update-notifier'];
  said = await run('npm', ['install', ...options, ...tarballs], { cwd: place, env });
  installed = join(place, 'node_modules/headgate');
}, PACKAGING_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the npm package', () => {
  it('is installed with its Node.js and nothing else, without network', () => {
    expect(said).toMatchObject({ code: 0, stdout: expect.stringContaining('added 2 packages') });
    const modules = readdirSync(join(installed, '..')).filter((name) => !name.startsWith('.'));
    expect(modules).toEqual(['headgate', OWN_NODE_PACKAGE]);
  });

  it('has the docs, as pages whose links lead to its own files', () => {
    expect(fileOf('docs/README.md')).toContain('](how-to/install.md)');
    expect(fileOf('docs/reference/settings.md')).toContain('GATEWAY_PROXY__PORT');
    expect(brokenLinksBelow(installed)).toEqual([]);
  });

  it('brings all but Node.js, and runs nothing when it is installed', () => {
    const manifest = JSON.parse(fileOf('package.json')) as Record<string, unknown>;
    const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({
      name: 'headgate',
      version: own['version'],
      license: 'Apache-2.0',
      bin: { headgate: 'bin/headgate' },
      engines: { node: '>=20' },
      optionalDependencies: Object.fromEntries(
        Object.entries(own['optionalDependencies'] as object).map(([name, version]) => [
          `headgate-${name}`,
          version,
        ]),
      ),
    });
    for (const field of ['private', 'scripts', 'dependencies', 'devDependencies', 'peerDependencies'])
      expect(manifest).not.toHaveProperty(field);
    // Neither sources nor tests nor programs that would have to be built.
    expect(globSync('**/*.{ts,tsx,map,node,gyp}', { cwd: installed })).toEqual([]);
    expect(JSON.parse(fileOf('configuration.schema.json'))).toHaveProperty('$schema');
    expect(fileOf('LICENSE')).toContain('Apache License');
  });

  it('names every package in it, with the text of its licence', () => {
    const notice = fileOf('NOTICE');
    for (const path of globSync('program/node_modules/**/package.json', { cwd: installed })) {
      const { name, version } = JSON.parse(fileOf(path)) as { name?: string; version?: string };
      if (name !== undefined && version !== undefined) expect(notice).toContain(`${name} ${version} (`);
    }
    // One of the bundle and one of the console.
    expect(notice).toMatch(/^fastify \d\S+ \(MIT\)$/m);
    expect(notice).toMatch(/^react \d\S+ \(MIT\)$/m);
    expect(notice).toContain('The Fastify team');
    expect(notice).toContain('Meta Platforms, Inc');
  });

  it('has a bill of materials with the same packages, and checksums', async () => {
    const components = componentsOf(fileOf('sbom.cdx.json'));
    const notice = fileOf('NOTICE');
    const libraries = components.filter(({ name }) => name !== 'node');
    expect(libraries.length).toBeGreaterThan(50);
    for (const { name, version, hashes } of libraries) {
      expect(notice).toContain(`${name} ${version} (`);
      expect(hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
    }
    expect(components.map(({ purl }) => purl).join('\n')).toMatch(/^pkg:npm\/%40fastify\/swagger-ui@\d/m);
    await expectChecksums(folder, /^headgate-[\d.]+\.tgz$/);
  });

  it('is a gateway with console and API explorer, without the checkout', { timeout: 120_000 }, async () => {
    const gateway = await startGateway({
      command: [join(installed, '../.bin/headgate')],
      // Its own Node.js, not one on PATH.
      env: { PATH: '/usr/bin:/bin', GATEWAY_SERVER__SWAGGER_ENABLED: 'true' },
    });
    try {
      await expectWorkingGateway(gateway);
      const health = await run(headgate(), ['health', '--server', gateway.base]);
      expect(health.code).toBe(0);
    } finally {
      expect(await gateway.stop()).toBe(0);
    }
  });

  it('runs through a link, as npm makes one', async () => {
    const link = join(folder, 'link-to-headgate');
    symlinkSync(headgate(), link);
    expect(await run(link, ['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d/) });
  });

  it('keeps compiled modules where its user may write, and does without where not', async () => {
    const home = join(folder, 'home');
    const env = { PATH: '/usr/bin:/bin', HOME: home };
    expect(await run(headgate(), ['--version'], { env })).toMatchObject({ code: 0 });
    expect(existsSync(join(home, '.cache/headgate/compiled'))).toBe(true);
    expect(await run(headgate(), ['--version'], { env: { ...env, HOME: '/dev/null' } })).toMatchObject({
      code: 0,
      stderr: '',
    });
  });
});

describe('the npm package of Node.js', () => {
  const node = (path: string): string => join(installed, '..', OWN_NODE_PACKAGE, path);

  it('is the program with its licence, for this processor', async () => {
    const manifest = JSON.parse(readFileSync(node('package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: OWN_NODE_PACKAGE, os: ['linux'], cpu: [process.arch] });
    expect((await run(node('bin/node'), ['--version'])).stdout.trim()).toBe(
      `v${String(manifest['version'])}`,
    );
    expect(readFileSync(node('LICENSE'), 'utf8')).toContain('OpenSSL, located at');
  });

  it('has a bill of materials with what is compiled into it, and a checksum', async () => {
    const components = componentsOf(readFileSync(node('sbom.cdx.json'), 'utf8'));
    const { stdout } = await run(node('bin/node'), ['--print', 'JSON.stringify(process.versions)']);
    const versions = JSON.parse(stdout) as Record<string, string>;
    for (const [name, key] of Object.entries({ node: 'node', openssl: 'openssl', v8: 'v8', libuv: 'uv' }))
      expect(components).toContainEqual(expect.objectContaining({ name, version: versions[key] }));
    const openssl = components.find(({ name }) => name === 'openssl');
    expect(openssl?.licenses).toEqual([{ license: { id: 'Apache-2.0' } }]);
    await expectChecksums(folder, /^headgate-node-linux-\w+-[\d.]+\.tgz$/);
  });
});

describe('the npm package without the Node.js that it needs', () => {
  /** A copy of the command alone, and a `node` of this version on PATH. */
  function alone(version: string | undefined): { readonly command: string; readonly path: string } {
    const place = mkdtempSync(join(folder, 'alone-'));
    mkdirSync(join(place, 'bin'));
    mkdirSync(join(place, 'path'));
    writeFileSync(join(place, 'bin/headgate'), fileOf('bin/headgate'), { mode: 0o755 });
    for (const name of ['sh', 'readlink', 'dirname', 'uname'])
      symlinkSync(`/usr/bin/${name}`, join(place, 'path', name));
    if (version !== undefined) {
      writeFileSync(
        join(place, 'path/node'),
        `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "ran $*"\n`,
      );
      chmodSync(join(place, 'path/node'), 0o755);
    }
    return { command: join(place, 'bin/headgate'), path: join(place, 'path') };
  }
  const start = ({ command, path }: ReturnType<typeof alone>) =>
    run(command, ['start', 'x'], { env: { PATH: path } });

  it.each([undefined, 'v20.20.2', 'v22.23.3', 'nonsense'])(
    'refuses %s with a plain message',
    async (version) => {
      const { code, stdout, stderr } = await start(alone(version));
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(
        `headgate: Node.js 24 or later is needed, and PATH has ${version ?? 'none'}.\nheadgate: npm brings one with`,
      );
      expect(stderr).toContain('which is missing: install again without --omit=optional');
    },
  );

  it('takes a newer one on PATH', async () => {
    const found = alone('v26.1.0');
    const { code, stdout } = await start(found);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ran .*program\/main\.js start x\n$/);
  });
});
