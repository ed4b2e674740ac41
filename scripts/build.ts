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
 * on. So does what Fastify would need for schemas of routes and for requests without a network: it is never loaded.
 *
 * Modules of Node.js are not imported, but asked for: for an import Node.js reads every export of the module, and so
 * loads what lies behind those that nothing uses, 29 of 198 modules in the main thread of a gateway.
 *
 * Left to itself, the bundler makes a file for each set of modules that the same imports lead to, and a start would
 * read a hundred small ones. Here the modules that the same threads and commands need are one file.
 */
import { copyFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { rolldown, type ChunkingContext, type OutputAsset, type OutputChunk } from 'rolldown';

const ROOT = join(import.meta.dirname, '..');
const PROGRAMS = ['main', 'worker', 'replay-worker', 'import-worker', 'telemetry-worker'];
const OUTSIDE = /^(?:@fastify\/(?:swagger|ajv-compiler|fast-json-stringify-compiler)|light-my-request)/;
/** What is loaded together: the modules of src/ that it begins with. */
const LOADED: Readonly<Record<string, readonly string[]>> = {
  first: ['cli/first'],
  start: ['compose/gateway'],
  commands: ['cli/program'],
  worker: ['worker'],
  replay: ['replay-worker'],
  import: ['import-worker'],
  telemetry: ['telemetry-worker'],
};

async function build(folder: string): Promise<void> {
  const bundle = await rolldown({
    cwd: ROOT,
    input: Object.fromEntries(PROGRAMS.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    external: [OUTSIDE],
    logLevel: 'silent',
  });
  const { output } = await bundle.write({
    dir: join(folder, 'src'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    charset: 'ascii',
    comments: { jsdoc: false, annotation: false },
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: fileNames() }] },
    plugins: [
      { name: 'ascii-licences', generateBundle: (_, files) => Object.values(files).forEach(toAscii) },
      { name: 'node-modules', generateBundle: (_, files) => Object.values(files).forEach(askForNodeModules) },
    ],
  });
  await bundle.close();
  // The program reads its version there, one folder up as in the sources.
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  writeFileSync(join(folder, 'bundled.json'), `${JSON.stringify(bundledPackages(output), null, 2)}\n`);
}

/**
 * Names the file of a module after all that needs it; null where that is only loaded now and then, which the bundler
 * splits by itself. What a module imports is needed wherever the module is, so files do not import one another.
 */
function fileNames(): (id: string, context: ChunkingContext) => string | null {
  const entries = new Set(PROGRAMS.map(sourceOf));
  let needed: readonly (readonly [string, ReadonlySet<string>])[] | undefined;
  return (id, context) => {
    needed ??= Object.entries(LOADED).map(([name, roots]) => [name, closureOf(roots.map(sourceOf), context)]);
    const names = needed.filter(([, ids]) => ids.has(id)).map(([name]) => name);
    return entries.has(id) || names.length === 0 ? null : shortened(names).join('-');
  };
}

const sourceOf = (name: string): string => join(ROOT, 'src', `${name}.ts`);

/** What every command loads first is there for the others. */
function shortened(names: readonly string[]): readonly string[] {
  return names[0] === 'first' ? names.filter((name) => name !== 'start' && name !== 'commands') : names;
}

/** With all that they import, but for what is only loaded when it is needed. */
function closureOf(roots: readonly string[], context: ChunkingContext): ReadonlySet<string> {
  const found = new Set(roots);
  for (const id of found)
    for (const imported of context.getModuleInfo(id)?.importedIds ?? []) found.add(imported);
  return found;
}

/** What the bundler leaves are names in licences. */
function toAscii(file: OutputChunk | OutputAsset): void {
  if (file.type !== 'chunk') return;
  const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  file.code = file.code.replace(/\/\*!.*?\*\//gs, (licence) => licence.replace(/[\u0080-\uffff]/g, escape));
}

/** As the bundler writes it: on a line of its own, with a default export, a namespace, or names. */
const NODE_IMPORT = /^import (?:([\w$]+)(?:, )?)?(?:\* as ([\w$]+))?(?:\{ (.+) \})? from ("node:[\w/]+");$/gm;

function askForNodeModules(file: OutputChunk | OutputAsset): void {
  if (file.type !== 'chunk') return;
  file.code = file.code.replace(
    NODE_IMPORT,
    (_, main?: string, namespace?: string, names?: string, module?: string) => {
      const targets = [main, namespace, names && `{ ${names.replaceAll(/([\w$]+) as /g, '$1: ')} }`];
      const constants = targets.filter((target) => target !== undefined);
      return constants
        .map((target) => `const ${target} = globalThis.process.getBuiltinModule(${module});`)
        .join(' ');
    },
  );
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
