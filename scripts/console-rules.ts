/**
 * The rules that keep the console's shape: which folder may import which, how long files and functions may get, and
 * that each file says what it is for. Pure; layering.ts runs them over console/src/.
 */
import { posix } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { FILE_LINES_MAX, TEST_FILE_LINES_MAX, specifierOf, walk, type Violation } from './layering-rules.ts';

/** A folder may import from folders before it, and from itself; features also from each other. */
const LEVELS = ['text', 'api', 'ui', 'page', 'features', 'app'];
const FUNCTION_LINES_MAX = 90;
/** Generated, with long lines in place of many. */
const GENERATED = 'console/src/api/schema.ts';

/** @param path relative to the project, such as `console/src/ui/badge.tsx` */
export function checkConsoleSource(path: string, source: string): Violation[] {
  if (path === GENERATED) return [];
  const found: Violation[] = [];
  const report = (at: number, message: string): void => {
    found.push({ path, line: source.slice(0, at).split('\n').length, message });
  };
  const lines = source.split('\n').length - 1;
  const linesMax = /\.test\.tsx?$/.test(path) ? TEST_FILE_LINES_MAX : FILE_LINES_MAX;
  if (lines > linesMax) report(0, `the file has ${lines} lines, at most ${linesMax} are allowed`);
  if (/\.test\.tsx?$/.test(path)) return found;
  if (!source.startsWith('/*')) report(0, 'the file does not open with a comment that says what it is for');
  walk(parseAst(source, { lang: 'tsx', astType: 'ts' }), (node) => {
    if (/Function/.test(node.type) && node.type !== 'TSFunctionType') {
      const length = source.slice(node.start, node.end).split('\n').length;
      if (length > FUNCTION_LINES_MAX)
        report(node.start, `the function has ${length} lines, at most ${FUNCTION_LINES_MAX} are allowed`);
    }
    const specifier = specifierOf(node);
    if (specifier?.startsWith('.') !== true) return;
    const problem = importProblem(path, posix.join(posix.dirname(path), specifier));
    if (problem !== undefined) report(node.start, problem);
  });
  return found;
}

function importProblem(from: string, to: string): string | undefined {
  if (!to.startsWith('console/src/'))
    return `${to}: the console imports nothing from outside of console/src/`;
  const [source, target] = [areaOf(from), areaOf(to)];
  // The file that mounts everything, and style sheets.
  if (source === 'main.tsx' || target === 'styles') return undefined;
  const [sourceLevel, targetLevel] = [LEVELS.indexOf(source), LEVELS.indexOf(target)];
  if (sourceLevel < 0 || targetLevel < 0)
    return `${sourceLevel < 0 ? source : target} has no level in the list of console-rules.ts`;
  return targetLevel <= sourceLevel ? undefined : `${source} may not import ${target}`;
}

const areaOf = (path: string): string => path.split('/')[2] ?? '';
