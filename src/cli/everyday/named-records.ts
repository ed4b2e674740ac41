/**
 * Finds ids by names where the management API accepts only ids: keys and admin tokens by name, endpoints by method
 * and path. Names of keys are not unique: keys of the same name are distinguished by their ids.
 */
import { namesMeant } from '../../lib/nearest.ts';
import { isUuid } from '../../lib/text/uuid.ts';
import type { GatewayClient } from '../gateway-client.ts';
import { CliError, printable } from '../io.ts';
import type { Json } from './everyday-command.ts';
import { listAll } from './pages.ts';

/** The search stops after this many records; an id finds any. */
const SEARCHED_MAX = 100_000;
/** Names beyond these are not suggested. */
const NAMES_COMPARED_MAX = 10_000;

const NAMES: Readonly<Record<string, { readonly what: string; readonly name: (record: Json) => string }>> = {
  key: { what: 'API key', name: ({ name }) => name },
  admin_token: { what: 'admin token', name: ({ name }) => name },
  webhook: { what: 'webhook', name: ({ name }) => name },
  endpoint: { what: 'endpoint', name: ({ method, path }) => `${method} ${path}` },
};

/**
 * @param template such as `/apps/{app}/tokens/{key}`
 * @throws CliError when a name fits no record, or several
 */
export async function pathOf(
  template: string,
  given: Readonly<Record<string, string>>,
  client: GatewayClient,
): Promise<string> {
  let path = '';
  for (const segment of template.split('/').slice(1)) {
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined) path += `/${segment}`;
    else path += `/${encodeURIComponent(await referenceOf(name, given[name] ?? '', path, client))}`;
  }
  return path;
}

async function referenceOf(
  argument: string,
  text: string,
  list: string,
  client: GatewayClient,
): Promise<string> {
  // An empty segment or a dot segment would lead to another call.
  if (/^\.{0,2}$/.test(text)) throw new CliError(`"${text}" is not the name of a record`);
  const named = NAMES[argument];
  if (named === undefined || isUuid(text)) return text;
  const { rows } = await listAll(client, list, SEARCHED_MAX);
  const found = rows.filter((record) => named.name(record) === text);
  const [first, second] = found;
  if (first === undefined) {
    const meant = namesMeant(
      text,
      rows.slice(0, NAMES_COMPARED_MAX).map((record) => named.name(record)),
    );
    const hint =
      meant.length === 0 ? '' : `; did you mean ${meant.map((name) => `"${printable(name)}"`).join(' or ')}?`;
    throw new CliError(`There is no ${named.what} "${printable(text)}" here${hint}`);
  }
  if (second === undefined) return String(first.id);
  const ids = found.slice(0, 10).map(({ id }) => String(id));
  throw new CliError(
    `There are ${found.length} records of the name "${printable(text)}"; expected one of their ids: ${ids.join(', ')}`,
  );
}
