/**
 * Keeps the files of the program readable while the gateway runs. An upgrade of its package removes them, and some are
 * loaded only when they are first needed, such as those for ACME or for key sets. The main thread opens all of them:
 * Linux keeps what is open, for a few hundred bytes each. A file that cannot be found any more is then read from its
 * descriptor, in the main thread and in the workers. The sources, which nothing replaces as a whole, are not held.
 *
 * Names of files change with their content (scripts/build.ts), so a new file of the same name is the same.
 */
import { fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const DATA = 'headgate: held files';

/** For the main thread, once, before it starts others. @param program URL of a program in the folder of main.ts */
export function holdFiles(program: URL): void {
  const held = new Map<string, number>();
  try {
    for (const name of readdirSync(new URL('.', program))) {
      const file = new URL(name, program);
      if (name.endsWith('.js')) held.set(file.href, openSync(file, 'r'));
    }
  } catch {
    // For lack of descriptors, for example: what is open helps, and nothing depends on it.
  }
  if (held.size === 0) return;
  setEnvironmentData(DATA, held);
  readFrom(held);
}

/** For a worker: with the descriptors of the main thread. */
export function useHeldFiles(): void {
  const held = getEnvironmentData(DATA) as ReadonlyMap<string, number> | undefined;
  if (held !== undefined) readFrom(held);
}

function readFrom(held: ReadonlyMap<string, number>): void {
  let hasGone = false;
  registerHooks({
    resolve(specifier, context, next) {
      const url = URL.parse(specifier, context.parentURL)?.href ?? '';
      if (!held.has(url)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        if (!hasGone) loadFrom(held);
        hasGone = true;
        return { url, format: 'module', shortCircuit: true };
      }
    },
  });
}

/** Only once a file has gone, so that nothing is loaded in another way before. */
function loadFrom(held: ReadonlyMap<string, number>): void {
  registerHooks({
    load(url, context, next) {
      const descriptor = held.get(url);
      if (descriptor === undefined) return next(url, context);
      return { source: textOf(descriptor), format: 'module', shortCircuit: true };
    },
  });
}

/** Not from the position of the descriptor, which all threads share. */
function textOf(descriptor: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(descriptor).size);
  readSync(descriptor, bytes, 0, bytes.length, 0);
  return bytes;
}
