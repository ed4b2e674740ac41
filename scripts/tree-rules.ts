/**
 * The rules about the tree as a whole: no import cycle, types included; no two source files with one name; and few
 * files in one folder. Pure: takes the sources as text; layering.ts runs it over src/, and the rule about cycles over
 * the console too.
 */
import { posix } from 'node:path';
import { importsOf, type Violation } from './layering-rules.ts';

/** Source files on one level of a folder; tests are not counted. */
export const FOLDER_FILES_MAX = 16;

/**
 * Folders whose files are named after a resource, a command or a member of a set, so that a name says the same thing
 * in each of them.
 */
const NAMED_BY_SUBJECT = [
  'src/management/schemas/',
  'src/management/routes/',
  'src/management/crud/',
  'src/management/write/rules/',
  'src/management/write/warnings/',
  'src/policy/parts/',
  'src/cli/',
];

/** Names that several files share, each with the reason. */
const SHARED_NAMES: ReadonlyMap<string, string> = new Map([
  ['repository.ts', 'the interface, and its implementation in SQL'],
]);

/** @param sources by path, without tests */
export function checkTree(sources: ReadonlyMap<string, string>): Violation[] {
  return [...checkCycles(sources), ...sharedNames([...sources.keys()]), ...fullFolders([...sources.keys()])];
}

/**
 * One violation for each group of files that import each other, with the shortest way around from its first file.
 * @param sources by path, without tests
 */
export function checkCycles(sources: ReadonlyMap<string, string>): Violation[] {
  const graph = new Map(
    [...sources].map(([path, source]) => [
      path,
      importsOf(path, source).filter((target) => sources.has(target) && target !== path),
    ]),
  );
  const found: Violation[] = [];
  const told = new Set<string>();
  for (const path of graph.keys()) {
    if (told.has(path)) continue;
    const around = wayBack(path, graph);
    if (around === undefined) continue;
    for (const member of around) told.add(member);
    found.push({ path, line: 1, message: `import cycle: ${[...around, path].join(' → ')}` });
  }
  return found;
}

/** The shortest way from a file over its imports back to it; undefined when there is none. */
function wayBack(start: string, graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const target of graph.get(path) ?? []) {
      if (target === start) {
        const way = [path];
        while (way[0] !== start) way.unshift(cameFrom.get(way[0]!)!);
        return way;
      }
      if (cameFrom.has(target)) continue;
      cameFrom.set(target, path);
      queue.push(target);
    }
  }
  return undefined;
}

function sharedNames(paths: readonly string[]): Violation[] {
  const firsts = new Map<string, string>();
  const found: Violation[] = [];
  for (const path of paths) {
    const name = posix.basename(path);
    if (SHARED_NAMES.has(name) || NAMED_BY_SUBJECT.some((folder) => path.startsWith(folder))) continue;
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, path);
    else found.push({ path, line: 1, message: `the file has the name of ${first}` });
  }
  return found;
}

function fullFolders(paths: readonly string[]): Violation[] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([path, count]) => ({
      path,
      line: 1,
      message: `the folder has ${count} source files, at most ${FOLDER_FILES_MAX} are allowed`,
    }));
}
