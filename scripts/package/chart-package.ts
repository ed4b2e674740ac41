/**
 * Makes the package of the Helm chart, without Helm; package.sh calls it. The same files give the same bytes.
 *
 *   chart-package.ts <folder>   writes <folder>/headgate-chart-<version>.tgz and prints its path
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { billOf, billText, licensesOf, type Component } from './sbom.ts';
import { tarOf, type TarEntry } from './tar.ts';

interface Chart {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Of the image that it runs. */
  readonly appVersion: string;
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Cannot package: the argument must be the folder of the package');
const root = join(import.meta.dirname, '../..');
const source = join(root, 'deploy/helm/headgate');
const chart = parse(readFileSync(join(source, 'Chart.yaml'), 'utf8')) as Chart;

/** All of the chart but hidden files, which Helm needs none of, and packages that were left there. */
const files = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/(?:^|\/)\.|\.tgz$/.test(path) && statSync(join(source, path)).isFile())
    .sort()
    .map((path) => [path, readFileSync(join(source, path))]),
);
files.set('LICENSE', readFileSync(join(root, 'LICENSE')));
files.set('sbom.cdx.json', Buffer.from(billText(bill(chart))));

// Helm wants all of it in a folder with the name of the chart.
const entries = [...files].map(([path, content]): TarEntry => ({
  path: `${chart.name}/${path}`,
  mode: 0o644,
  content,
}));
const path = resolve(folder, `headgate-chart-${chart.version}.tgz`);
writeFileSync(path, gzipSync(tarOf(entries), { level: 9 }));
process.stdout.write(`${path}\n`);

/** It contains no software of others: its files, with their digests, and the image that it runs. */
function bill({ name, version, description, appVersion }: Chart) {
  const purl = `pkg:generic/headgate-chart@${version}`;
  const image = `pkg:generic/headgate@${appVersion}`;
  const subject = {
    type: 'application',
    'bom-ref': purl,
    name: 'headgate-chart',
    version,
    description,
    purl,
  };
  return billOf({ ...subject, licenses: licensesOf('Apache-2.0') }, [
    { type: 'container', 'bom-ref': image, name, version: appVersion, purl: image },
    ...[...files].map(fileComponent),
  ]);
}

function fileComponent([name, content]: readonly [string, Buffer]): Component {
  const digest = createHash('sha256').update(content).digest('hex');
  return { type: 'file', 'bom-ref': `file:${name}`, name, hashes: [{ alg: 'SHA-256', content: digest }] };
}
