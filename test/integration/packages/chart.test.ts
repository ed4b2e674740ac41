/**
 * The package of the Helm chart: what is in it, its bill of materials and its checksum. The chart itself is tested by
 * `npm run test:kubernetes`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { componentsOf, expectChecksums } from '../../support/programs/bill-of-materials.ts';
import { brokenLinksBelow } from '../../support/programs/page-links.ts';
import { madePackages } from '../../support/programs/made-package.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const SOURCE = join(ROOT, 'deploy/helm/headgate');

let folder = '';
let chart = '';
/** As Helm unpacks it. */
let unpacked = '';
const fileOf = (path: string): string => readFileSync(join(unpacked, path), 'utf8');

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-chart-'));
  [chart = ''] = madePackages(folder, 'chart');
  execFileSync('tar', ['xzf', chart, '-C', folder]);
  unpacked = join(folder, 'headgate');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the package of the Helm chart', () => {
  it('is the chart of the checkout with its licence, in a folder with its name, for this version', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(basename(chart)).toBe(`headgate-chart-${version}.tgz`);
    expect(parse(fileOf('Chart.yaml'))).toMatchObject({ name: 'headgate', version, appVersion: version });
    const files = (place: string): string[] =>
      globSync('**/*.*', { cwd: place })
        .filter((path) => !basename(path).startsWith('.'))
        .toSorted();
    expect(files(unpacked)).toEqual([...files(SOURCE), 'sbom.cdx.json'].toSorted());
    for (const path of files(SOURCE)) expect(fileOf(path)).toBe(readFileSync(join(SOURCE, path), 'utf8'));
    expect(fileOf('LICENSE')).toContain('Apache License');
  });

  it('has a bill of materials with its files, their digests and the image that it runs', async () => {
    const components = componentsOf(fileOf('sbom.cdx.json'));
    const files = components.filter(({ type }) => type === 'file');
    expect(files.length).toBeGreaterThan(10);
    for (const { name, hashes } of files) {
      const digest = createHash('sha256').update(fileOf(name)).digest('hex');
      expect(hashes).toEqual([{ alg: 'SHA-256', content: digest }]);
    }
    const { appVersion } = parse(fileOf('Chart.yaml')) as { appVersion: string };
    expect(components).toContainEqual(
      expect.objectContaining({ type: 'container', name: 'headgate', version: appVersion }),
    );
    await expectChecksums(folder, /^headgate-chart-[\d.]+\.tgz$/);
  });

  it('has pages whose links lead to its own files', () => {
    expect(brokenLinksBelow(unpacked)).toEqual([]);
  });

  it('has the same bytes when it is made again', () => {
    const again = join(folder, 'again');
    mkdirSync(again);
    const [other = ''] = madePackages(again, 'chart');
    expect(readFileSync(other).equals(readFileSync(chart))).toBe(true);
  });

  it('is not meant by the patterns with which npm installs the packages of a folder', () => {
    const page = readFileSync(join(ROOT, 'docs/how-to/install.md'), 'utf8');
    const [, patterns = ''] = /^npm install --global (packages\/\S+(?: packages\/\S+)*)$/m.exec(page) ?? [];
    const made = ['headgate-0.1.0.tgz', 'headgate-node-linux-x64-24.21.0.tgz', basename(chart)];
    const meant = execFileSync(
      'sh',
      ['-ec', `mkdir packages && cd packages && touch ${made.join(' ')} && cd .. && ls ${patterns}`],
      { cwd: folder, encoding: 'utf8' },
    );
    expect(meant.trim().split('\n')).toEqual(made.slice(0, 2).map((name) => `packages/${name}`));
  });
});
