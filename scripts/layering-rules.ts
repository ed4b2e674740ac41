/**
 * The rules that keep the program's shape, as a table and a pure check of one source file: which folder may import
 * which, where packages, clocks, randomness and the environment may be used, and how long things may get. The
 * architecture page of the docs explains them; layering.ts runs them over the tree.
 */
import { isAbsolute, posix } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

/** What lies on one line may import what lies on earlier lines, and itself; never a neighbour on its own line. */
const LEVELS: readonly (readonly string[])[] = [
  ['lib'],
  ['model', 'http', 'x509'],
  ['limits', 'storage', 'observe', 'egress', 'declaration'],
  ['keys'],
  ['config'],
  ['policy'],
  ['proxy'],
  ['explain', 'telemetry'],
  ['management'],
  ['control'],
  ['cli'],
  ['compose', 'worker', 'replay-worker', 'import-worker', 'telemetry-worker'],
  ['main'],
];

/** The settings stand beside the levels: they build on the model, and only the outer ones may know them. */
const SETTINGS_MAY_IMPORT = ['settings', 'lib', 'model'];
const MAY_IMPORT_SETTINGS = ['settings', 'control', 'cli', 'compose', 'worker', 'replay-worker', 'main'];

/** Where a package or a guarded module of Node.js may be imported; a package without a row may be nowhere. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  '@fastify/swagger': ['src/management/'],
  '@fastify/swagger-ui': ['src/management/'],
  '@peculiar/x509': ['src/control/acme/'],
  '@redis/client': ['src/limits/'],
  '@scalar/openapi-upgrader': ['src/management/import/'],
  commander: ['src/cli/'],
  fastify: ['src/management/'],
  jose: ['src/policy/', 'src/control/acme/'],
  kysely: ['src/storage/'],
  'openid-client': ['src/management/sessions/oidc/'],
  pg: ['src/storage/'],
  pino: ['src/observe/log.ts'],
  'prom-client': ['src/observe/metrics/prometheus.ts'],
  typebox: ['src/model/', 'src/policy/', 'src/explain/', 'src/management/'],
  undici: ['src/policy/parts/auth/jwt/jwks-fetch.ts', 'src/control/'],
  'node:http': ['src/management/', 'src/cli/', 'src/telemetry/export/'],
  'node:http2': [
    'src/proxy/downstream/http2/http2-client-socket.ts',
    'src/proxy/downstream/http2/http2-connection.ts',
  ],
  'node:https': ['src/cli/connection/', 'src/telemetry/export/'],
  'node:sqlite': ['src/storage/'],
  yaml: ['src/declaration/'],
};

const RANDOM_OF_CRYPTO = new Set([
  'randomBytes',
  'randomFill',
  'randomFillSync',
  'randomInt',
  'randomUUID',
  'getRandomValues',
]);

export const FILE_LINES_MAX = 500;
export const TEST_FILE_LINES_MAX = 900;
export const FUNCTION_LINES_MAX = 70;

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/**
 * Checks one TypeScript file.
 * @param path relative to the project, with forward slashes
 */
export function checkSource(path: string, source: string): Violation[] {
  const isTest = isTestFile(path) || !/^(?:src|scripts)\//.test(path);
  const isProgram = path.startsWith('src/') && !isTest;
  const found: Violation[] = [];
  const report = (at: number, message: string): void => {
    found.push({ path, line: source.slice(0, at).split('\n').length, message });
  };
  const linesMax = path.endsWith('.test.ts') ? TEST_FILE_LINES_MAX : FILE_LINES_MAX;
  const lines = source.split('\n').length - 1;
  if (lines > linesMax) report(0, `the file has ${lines} lines, at most ${linesMax} are allowed`);
  if (path.endsWith('.test.ts')) return found;
  if (!/^(?:#!.*\n)?\/[*/]/.test(source))
    report(0, 'the file does not open with a comment that says what it is for');
  for (const match of source.matchAll(/\b(?:TODO|FIXME)\b/g)) {
    if (isProgram) report(match.index, `${match[0]}: finish it or file it`);
  }
  walk(parseAst(source, { lang: 'ts', astType: 'ts' }), (node) => {
    if (!isTest) checkFunction(node, source, report);
    if (!isProgram) return;
    checkImport(path, node, report);
    checkUse(path, node, report);
  });
  return found;
}

/** The project's own files that a file imports, statically, dynamically or as types. */
export function importsOf(path: string, source: string): string[] {
  const found: string[] = [];
  walk(parseAst(source, { lang: path.endsWith('.tsx') ? 'tsx' : 'ts', astType: 'ts' }), (node) => {
    const specifier = specifierOf(node);
    if (specifier?.startsWith('.') === true) found.push(posix.join(posix.dirname(path), specifier));
  });
  return found;
}

type Report = (at: number, message: string) => void;

function checkFunction(node: Node, source: string, report: Report): void {
  if (!/^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) return;
  const lines = source.slice(node.start, node.end).split('\n').length;
  if (lines > FUNCTION_LINES_MAX) {
    report(node.start, `the function has ${lines} lines, at most ${FUNCTION_LINES_MAX} are allowed`);
  }
}

function checkImport(path: string, node: Node, report: Report): void {
  const specifier = specifierOf(node);
  if (specifier === undefined) return;
  if (specifier.startsWith('.')) {
    const problem = relativeImportProblem(path, posix.join(posix.dirname(path), specifier));
    if (problem !== undefined) report(node.start, problem);
    return;
  }
  if (isAbsolute(specifier)) return report(node.start, `${specifier}: an absolute path`);
  const homes = homesOf(specifier);
  if (homes === undefined)
    return report(node.start, `${specifier}: the package has no row in the table of layering-rules.ts`);
  if (!homes.some((home) => path.startsWith(home))) {
    report(node.start, `${specifier} may be imported in ${homes.join(', ') || 'no file'} only`);
  }
}

/** The module that a node imports, statically, dynamically or as a type. */
export function specifierOf(node: Node): string | undefined {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
    case 'TSImportType':
      return stringOf(node['source']);
    default:
      return undefined;
  }
}

function stringOf(literal: unknown): string | undefined {
  const value = (literal as { readonly value?: unknown } | null | undefined)?.value;
  return typeof value === 'string' ? value : undefined;
}

function homesOf(specifier: string): readonly string[] | undefined {
  if (specifier.startsWith('node:')) return HOMES[specifier] ?? ['src/'];
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? (HOMES[`${scope}/${name}`] ?? HOMES[scope]) : HOMES[scope];
}

function relativeImportProblem(from: string, to: string): string | undefined {
  if (!to.startsWith('src/')) return `${to}: a source file imports nothing from outside of src/`;
  if (isTestFile(to)) return `${to}: only tests import what is made for tests`;
  const [source, target] = [areaOf(from), areaOf(to)];
  if (source === target) return undefined;
  if (target === 'settings') {
    return MAY_IMPORT_SETTINGS.includes(source) ? undefined : `${source} may not import the settings`;
  }
  if (source === 'settings') {
    return SETTINGS_MAY_IMPORT.includes(target) ? undefined : `the settings may not import ${target}`;
  }
  const [sourceLevel, targetLevel] = [levelOf(source), levelOf(target)];
  if (sourceLevel < 0) return `${source} has no level in the table of layering-rules.ts`;
  if (targetLevel < 0) return `${target} has no level in the table of layering-rules.ts`;
  return targetLevel < sourceLevel
    ? undefined
    : `${source} may not import ${target}: it is not on a lower level`;
}

/** Tests, and what stands beside the source for tests only: `x.test.ts`, `x.fixture.ts`, `test-fixtures.ts`. */
export function isTestFile(path: string): boolean {
  return /\.(?:test|fixture|fixtures)\.ts$|\/test-[^/]+\.ts$/.test(path);
}

/** The folder below src/, or the file's name for files that stand there themselves. */
function areaOf(path: string): string {
  const [, first = ''] = path.split('/');
  const name = first.replace(/\.ts$/, '');
  return name.startsWith('settings') ? 'settings' : name;
}

function levelOf(area: string): number {
  return LEVELS.findIndex((level) => level.includes(area));
}

function checkUse(path: string, node: Node, report: Report): void {
  if (isMember(node, 'process', 'env') && path !== 'src/main.ts') {
    report(node.start, 'process.env may be read in src/main.ts only');
  }
  if (path.startsWith('src/lib/')) return;
  const clock =
    isMember(node, 'Date', 'now') ||
    isMember(node, 'performance', 'now') ||
    isMember(node, 'process', 'hrtime');
  if (clock || isCurrentDate(node)) report(node.start, 'clocks may be read in src/lib only: take a Clock');
  const imported = node['imported'] as Node | undefined;
  const random =
    isMember(node, 'Math', 'random') ||
    (node.type === 'ImportSpecifier' && RANDOM_OF_CRYPTO.has(String(imported?.['name']))) ||
    [...RANDOM_OF_CRYPTO].some((name) => isMember(node, 'crypto', name));
  if (random) report(node.start, 'randomness may be drawn in src/lib only: see lib/ids.ts');
}

function isMember(node: Node, object: string, property: string): boolean {
  if (node.type !== 'MemberExpression') return false;
  const name = (value: unknown): unknown => (value as Node)['name'] ?? (value as Node)['value'];
  return name(node['object']) === object && name(node['property']) === property;
}

/** `new Date()` and `Date()`; with an argument it reads no clock. */
function isCurrentDate(node: Node): boolean {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return false;
  const isDate = (node['callee'] as Node)['name'] === 'Date';
  return isDate && (node.type === 'CallExpression' || (node['arguments'] as unknown[]).length === 0);
}

export function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit);
  } else if (typeof value === 'object' && value !== null) {
    const node = value as Node;
    if (typeof node.type === 'string') visit(node);
    for (const part of Object.values(node)) walk(part, visit);
  }
}
