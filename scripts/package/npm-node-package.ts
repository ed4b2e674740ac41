/**
 * Makes the npm package of the Node.js that the npm package of Headgate runs on, for the processor of this machine: the
 * program, its licence and its bill of materials alone. The package that the checkout has it from also has 2,800 files
 * for those who compile add-ons, which cost an install as much as the program itself. package.sh calls it.
 *
 *   npm-node-package.ts <folder>   writes <folder>/headgate-node-linux-<cpu>-<version>.tgz and prints its path
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeRuntimeOf } from './node-components.ts';
import { npmPack } from './npm-pack.ts';
import { ownNodePackage } from './payload.ts';
import { billText, nodeSbomOf } from './sbom.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Cannot package: the argument must be the folder of the package');
const source = `node-linux-${process.arch}`;
const from = join(import.meta.dirname, '../../node_modules', source);
const { version } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as { version: string };
const manifest = {
  name: ownNodePackage(source),
  version,
  description: 'Node.js, for the package headgate',
  license: 'SEE LICENSE IN LICENSE',
  files: ['bin', 'LICENSE', 'sbom.cdx.json'],
  os: ['linux'],
  cpu: [process.arch],
  // npm does not download it where it cannot start, such as on Alpine.
  libc: ['glibc'],
  publishConfig: { access: 'public', provenance: true },
};
const draft = mkdtempSync(join(tmpdir(), 'headgate-node-'));
try {
  mkdirSync(join(draft, 'bin'));
  for (const path of ['bin/node', 'LICENSE']) copyFileSync(join(from, path), join(draft, path));
  const runtime = nodeRuntimeOf(join(from, 'bin/node'));
  writeFileSync(join(draft, 'sbom.cdx.json'), billText(nodeSbomOf(manifest.name, runtime)));
  writeFileSync(join(draft, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  process.stdout.write(`${npmPack(draft, folder)}\n`);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
