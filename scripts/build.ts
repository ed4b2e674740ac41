/**
 * Bundles the gateway into a few files that start in a third of the time of the sources: one reading and compiling
 * per file is what a start mostly consists of. build.sh calls it when there is no bundle of the sources as they are.
 *
 *   build.ts <folder>    writes <folder>/src/main.js, a file for the program of each kind of thread, a package.json,
 *                        and bundled.json: the folders of the packages that are in it, for their licences
 *
 * Nothing is minified: stacks name what they named before. But each thread keeps the text of what it runs, so comments
 * are left out, except licences, and all is ASCII: of a text with one other letter, two bytes are kept for every
 * letter. The API explorer stays outside, as it reads files of its own packages; it is loaded only where it is switched
 * on.
 */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { rolldown, type OutputAsset, type OutputChunk } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
const PROGRAMS = ['main', 'worker', 'replay-worker', 'import-worker', 'telemetry-worker'];

async function build(folder: string): Promise<void> {
  const bundle = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(PROGRAMS.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: [/^@fastify\/swagger/],
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: join(folder, 'src'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    charset: 'ascii',
    comments: { jsdoc: false, annotation: false },
    plugins: [
      { name: 'ascii-licences', generateBundle: (_, files) => Object.values(files).forEach(toAscii) },
    ],
  });
  await bundle.close();
  // The program reads its version there, one folder up as in the sources.
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  writeFileSync(join(folder, 'bundled.json'), `${JSON.stringify(bundledPackages(output), null, 2)}\n`);
}

/** What the bundler leaves are names in licences. */
function toAscii(file: OutputChunk | OutputAsset): void {
  if (file.type !== 'chunk') return;
  const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  file.code = file.code.replace(/\/\*!.*?\*\//gs, (licence) => licence.replace(/[\u0080-\uffff]/g, escape));
}

/** Folders relative to the checkout, such as `node_modules/pg`, sorted. */
function bundledPackages(output: readonly (OutputChunk | OutputAsset)[]): string[] {
  const found = new Set<string>();
  for (const file of output) {
    for (const id of file.type === 'chunk' ? file.moduleIds : []) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(ROOT, id.replace(/^\0|\?.*$/g, '')));
      if (folder !== null) found.add(folder[0]);
    }
  }
  return [...found].sort();
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Cannot build: the first argument must be the folder to write to');
await build(resolve(folder));
