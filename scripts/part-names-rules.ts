/**
 * The rule that only src/policy/ names a part of a policy: all other code goes over the registry. A file names a part
 * when it imports from the folder of one, or has the name of a part or of a stage as a text. A name of several words
 * also counts as an identifier or a member. One of a single word, such as `headers`, mostly is that by chance, so it
 * counts only as a member of something that is called a policy. Pure; layering.ts runs it over src/.
 */
import { posix } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { specifierOf, walk, type Node, type Violation } from './layering-rules.ts';

interface Exception {
  /** Files, or folders with a slash at the end. */
  readonly paths: readonly string[];
  /** Absent: any part. */
  readonly names?: readonly string[];
  readonly why: string;
}

export const EXCEPTIONS: readonly Exception[] = [
  {
    paths: ['src/cli/import/', 'src/management/import/'],
    why: 'translates the formats of others into parts',
  },
  {
    paths: [
      'src/model/resources.ts',
      'src/keys/key-record.ts',
      'src/keys/presented-key.ts',
      'src/storage/sql/rows.ts',
      'src/management/history/restored-state.ts',
      'src/management/routes/resources/tokens.ts',
      'src/management/schemas/',
    ],
    names: ['rate_limit', 'rate-limit', 'scopes'],
    why: 'the scopes and the plan of an API key, which have the schema of a part',
  },
  {
    paths: ['src/explain/replay/recorded-callers.ts', 'src/explain/traffic/traffic-record.ts'],
    names: ['auth'],
    why: 'records whose credential a request has, and stands in for it',
  },
  {
    paths: [
      'src/proxy/match.ts',
      'src/proxy/upstream/upstream-head.ts',
      'src/proxy/respond.ts',
      'src/proxy/body-shadow.ts',
    ],
    names: ['auth', 'rate-limit', 'body-size'],
    why: 'the engine, on the way of each request: docs/explanation/decisions/tree.md',
  },
  {
    paths: ['src/management/api/examples.ts', 'src/management/routes/resources/apps.ts'],
    names: ['auth', 'rate_limit', 'required_scopes'],
    why: 'examples for the OpenAPI document',
  },
  { paths: ['src/cli/everyday/gateway-commands.ts'], names: ['shadow'], why: 'the name of a command' },
  { paths: ['src/control/webhooks/webhook-http.ts'], names: ['headers'], why: 'the fields of a request' },
  { paths: ['src/limits/store.ts'], names: ['concurrency'], why: 'the label of a metric' },
  {
    paths: [
      'src/model/access-fields.ts',
      'src/settings/areas/otel-settings.ts',
      'src/settings/settings-types.ts',
      'src/settings/otel/otel-nesting.ts',
    ],
    names: ['retries'],
    why: 'retries that were made',
  },
];

const PARTS_FOLDER = 'src/policy/parts/';
/** Its policies are compiled ones, whose members are data for the engine (`PolicyData` in src/policy/stage.ts). */
const ENGINE_FOLDER = 'src/proxy/';
/** Such as `policy`, `policies`, `ownPolicy` and `default_policy`. */
const POLICY = /(?:^|_)(?:policy|policies)(?:_|$)|(?:Policy|Policies)$/;

/** @param names of parts and stages, as policies and explanations have them */
export function checkPartNames(path: string, source: string, names: ReadonlySet<string>): Violation[] {
  if (path.startsWith('src/policy/')) return [];
  const found: Violation[] = [];
  walk(parseAst(source, { lang: 'ts', astType: 'ts' }), (node) => {
    const name = nameIn(node, path, names);
    if (name === undefined || isAllowed(path, name)) return;
    const line = source.slice(0, node.start).split('\n').length;
    found.push({
      path,
      line,
      message: `"${name}" names a policy part: go over the registry, by a hook of part.ts`,
    });
  });
  return found;
}

/** The name of the part, or of its folder. */
function nameIn(node: Node, path: string, names: ReadonlySet<string>): string | undefined {
  const specifier = specifierOf(node);
  if (specifier?.startsWith('.') === true) {
    const target = posix.join(posix.dirname(path), specifier);
    return target.startsWith(PARTS_FOLDER) ? target.slice(PARTS_FOLDER.length).split('/')[0] : undefined;
  }
  const member = path.startsWith(ENGINE_FOLDER)
    ? undefined
    : membersOfPolicies(node).find((name) => names.has(name) && !name.includes('_'));
  if (member !== undefined) return member;
  const text =
    node.type === 'Literal' ? node['value'] : node.type === 'Identifier' ? node['name'] : undefined;
  if (typeof text !== 'string' || !names.has(text)) return undefined;
  return node.type === 'Literal' || text.includes('_') ? text : undefined;
}

/** The members that a node takes out of a policy: `policy.cors`, or a pattern that takes one apart. */
function membersOfPolicies(node: Node): string[] {
  const child = (name: string): Node | undefined => node[name] as Node | undefined;
  switch (node.type) {
    case 'MemberExpression':
      return isPolicy(child('object')) ? [child('property')].flatMap(nameOf) : [];
    case 'VariableDeclarator':
      return isPolicy(child('init')) ? keysOf(child('id')) : [];
    case 'Property':
      return isPolicy(child('key')) ? keysOf(child('value')) : [];
    default:
      return [];
  }
}

/** Whether an expression, or the key of a property, is called a policy. */
function isPolicy(node: Node | undefined): boolean {
  const inner = (node?.['expression'] ?? node?.['property']) as Node | undefined;
  return inner === undefined ? nameOf(node).some((name) => POLICY.test(name)) : isPolicy(inner);
}

/** The keys of an object pattern; none for any other node. */
function keysOf(node: Node | undefined): string[] {
  if (node?.type !== 'ObjectPattern') return [];
  return (node['properties'] as readonly Node[]).flatMap((property) =>
    nameOf(property['key'] as Node | undefined),
  );
}

const nameOf = (node: Node | undefined): string[] =>
  node?.type === 'Identifier' && typeof node['name'] === 'string' ? [node['name']] : [];

const isAllowed = (path: string, name: string): boolean =>
  EXCEPTIONS.some(
    ({ paths, names }) =>
      paths.some((allowed) => (allowed.endsWith('/') ? path.startsWith(allowed) : path === allowed)) &&
      names?.includes(name) !== false,
  );

/** Exceptions that no file needs any more. @param sources by path */
export function unusedExceptions(
  sources: ReadonlyMap<string, string>,
  names: ReadonlySet<string>,
): Violation[] {
  const used = new Set<string>();
  for (const [path, source] of sources) {
    if (!EXCEPTIONS.some(({ paths }) => paths.some((allowed) => path.startsWith(allowed)))) continue;
    walk(parseAst(source, { lang: 'ts', astType: 'ts' }), (node) => {
      if (nameIn(node, path, names) !== undefined) used.add(path);
    });
  }
  return EXCEPTIONS.flatMap(({ paths }) => paths)
    .filter((allowed) => ![...used].some((path) => path.startsWith(allowed)))
    .map((path) => ({
      path,
      line: 1,
      message: 'part-names-rules.ts has an exception that the file does not need',
    }));
}
