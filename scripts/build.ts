/**
 * Bundles the gateway into a few files that start in a third of the time of the sources: one reading and compiling
 * per file is what a start mostly consists of. build.sh calls it when there is no bundle of the sources as they are.
 *
 *   build.ts <folder>    writes <folder>/src/main.js, a file for the program of each kind of thread, and a package.json
 *
 * Nothing is minified: stacks name what they named before. The API explorer stays outside, as it reads files of its
 * own packages; it is loaded only where it is switched on.
 */
import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
const PROGRAMS = ['main', 'worker', 'replay-worker', 'import-worker'];

async function build(folder: string): Promise<void> {
  const bundle = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(PROGRAMS.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: [/^@fastify\/swagger/],
    logLevel: 'silent',
  });
  await bundle.write({
    dir: join(folder, 'src'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  });
  await bundle.close();
  // The program reads its version there, one folder up as in the sources.
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Cannot build: the first argument must be the folder to write to');
await build(resolve(folder));
