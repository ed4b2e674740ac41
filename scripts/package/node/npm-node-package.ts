/**
 * Makes the npm package of the Node.js that the npm package of Headgate runs on: the program, its licence and its bill
 * of materials alone. The package that the checkout has it from also has 2,800 files for those who compile add-ons,
 * which cost an install as much as the program itself. package.sh calls it.
 *
 *   npm-node-package.ts <node> <folder>   takes the package in <node> (node-package.ts),
 *                                         writes <folder>/headgate-node-linux-<cpu>-<version>.tgz and prints its path
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readElf } from './elf.ts';
import { runtimeOfPackage } from './node-package.ts';
import { npmPack } from '../npm-pack.ts';
import { ownNodePackage } from '../payload.ts';
import { billText, nodeSbomOf } from '../sbom.ts';

const [from, folder] = process.argv.slice(2);
if (from === undefined || folder === undefined)
  throw new Error('Cannot package: the arguments must be the folders of Node.js and of the package');
const { machine } = readElf(join(from, 'bin/node'));
const { version } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as { version: string };
const manifest = {
  name: ownNodePackage(`node-linux-${machine}`),
  version,
  description: 'Node.js, for the package headgate',
  license: 'SEE LICENSE IN LICENSE',
  files: ['bin', 'LICENSE', 'sbom.cdx.json'],
  os: ['linux'],
  cpu: [machine],
  // npm does not download it where it cannot start, such as on Alpine.
  libc: ['glibc'],
  publishConfig: { access: 'public', provenance: true },
};
const draft = mkdtempSync(join(tmpdir(), 'headgate-node-'));
try {
  mkdirSync(join(draft, 'bin'));
  for (const path of ['bin/node', 'LICENSE']) copyFileSync(join(from, path), join(draft, path));
  const runtime = runtimeOfPackage(from);
  writeFileSync(join(draft, 'sbom.cdx.json'), billText(nodeSbomOf(manifest.name, runtime)));
  writeFileSync(join(draft, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  process.stdout.write(`${npmPack(draft, folder)}\n`);
} finally {
  rmSync(draft, { recursive: true, force: true });
}
