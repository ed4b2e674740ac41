/** The same write elsewhere: as a call with curl, and as a command. Pure. */
import { stringify } from 'yaml';
import { urlOf } from '../../api/call.ts';
import { isFields, leavesOf, type Fields, type Leaf } from './merge-patch.ts';
import type { Change } from './save-context.ts';

/** For a shell; `HEADGATE_TOKEN` stands for the admin token. */
export function curlOf(
  operation: string,
  options: Change['options'],
  origin = window.location.origin,
): string {
  const method = operation.slice(0, operation.indexOf(' '));
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return [
    `curl -X ${method} ${quoted(origin + urlOf(operation, options))}`,
    `-H "Authorization: Bearer $HEADGATE_TOKEN"`,
    ...(options.ifMatch === undefined ? [] : [`-H ${quoted(`If-Match: ${options.ifMatch}`)}`]),
    ...(options.body === undefined
      ? []
      : [`-H ${quoted(`Content-Type: ${type}`)}`, `-d ${quoted(JSON.stringify(options.body))}`]),
  ].join(' \\\n  ');
}

/** For a POSIX shell: nothing inside of single quotes has a meaning. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

const VERSION = '/apps/{app_id}/versions/{version_id}';
const REVISION = `${VERSION}/revisions/{revision_id}`;
const PATCHED: Readonly<Record<string, string>> = {
  '/apps/{app_id}': 'apps',
  [VERSION]: 'versions',
  [REVISION]: 'revisions',
  [`${REVISION}/endpoints/{endpoint_id}`]: 'endpoints',
  '/apps/{app_id}/tokens/{token_id}': 'keys',
};
/** More are easier to read in a file. */
const FIELDS_MAX = 6;

/** As a command of `headgate`; undefined where there is none for it. */
export function commandOf(
  operation: string,
  { path = {}, query = {}, body }: Change['options'],
): string | undefined {
  const [method = '', template = ''] = operation.split(' ');
  const names = [...template.matchAll(/\{(\w+)\}/g)].map((match) => word(path[match[1] ?? ''] ?? ''));
  const group = PATCHED[template];
  if (method === 'PATCH' && group !== undefined && isFields(body)) {
    const words = assignmentsOf(body);
    if (words !== undefined) return command([group, 'edit'], [...names, ...words]);
    return `${command([group, 'edit'], names, ['--file -'])} <<'EOF'\n${stringify(body)}EOF`;
  }
  if (method === 'DELETE' && group !== undefined) {
    const isCascade = query['cascade'] === true || query['cascade'] === 'true';
    return command([group, 'delete'], names, isCascade ? ['--cascade'] : []);
  }
  const activation = /\/(activate|deactivate)$/.exec(template)?.[1];
  if (activation !== undefined) {
    const isExclusive = isFields(body) && body['exclusive'] === true;
    return command(['revisions', activation], names, isExclusive ? ['--exclusive'] : []);
  }
  if (method === 'PUT' && template === `${VERSION}/traffic` && isFields(body)) {
    const weights = Object.entries(body).map(([label, weight]) => word(`${label}=${String(weight)}`));
    return command(['traffic', 'set'], [...names, ...weights]);
  }
  return undefined;
}

/** Labels may begin with "-": none of them is an option. */
function command(
  words: readonly string[],
  operands: readonly string[],
  options: readonly string[] = [],
): string {
  const isPlain = !operands.some((operand) => /^'?-/.test(operand));
  const rest = isPlain ? [...operands, ...options] : [...options, '--', ...operands];
  return ['headgate', ...words, ...rest].join(' ');
}

/** As `field=value`; undefined where a file says it better. */
function assignmentsOf(body: Fields): string[] | undefined {
  const leaves = leavesOf(body);
  const words = leaves.map(assignment);
  const known = words.filter((one) => one !== undefined);
  return leaves.length > FIELDS_MAX || known.length < words.length ? undefined : known;
}

/** undefined where the command line would read it as something else. */
function assignment({ path, value }: Leaf): string | undefined {
  if (path.some((name) => !/^[\w-]+$/.test(name))) return undefined;
  const field = path.join('.').replace(/^(?:default_policy|policy_override)\./, 'policy.');
  if (value === null) return `${field}=null`;
  if (typeof value === 'string') {
    return value === '' || value === 'null' || value.startsWith('@') ? undefined : word(`${field}=${value}`);
  }
  if (typeof value === 'number') return Number.isInteger(value) ? `${field}=${value}` : undefined;
  return word(`${field}=${JSON.stringify(value)}`);
}

/** Quoted where a shell would read more than a word. */
export function word(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) && !text.startsWith('-') ? text : quoted(text);
}
