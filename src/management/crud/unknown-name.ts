/**
 * The 404 for a name that fits no record: where it was looked for, and the name that was probably meant, or else the
 * names that are there.
 */
import { namesMeant } from '../../lib/nearest.ts';
import { isUuid } from '../../lib/text/uuid.ts';
import type { ConfigReader, Page } from '../../storage/repository.ts';
import { fail, notFound, type Failure } from '../api/failure.ts';
import type { Resource, StoredRecord } from './resource.ts';

/** Names further back in the list are not suggested. */
const SEARCHED_MAX = 200;
const LISTED_MAX = 10;

export async function unknownName<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  reader: ConfigReader,
  scope: S,
  reference: string,
): Promise<Failure> {
  const what = resource.names[0].toLowerCase();
  if (isUuid(reference)) return notFound(what, reference);
  if (resource.placeOfNames === undefined)
    return fail('not_found', `There is no ${what} "${reference}" here; expected the id of the ${what}`);
  const page = await resource.list(reader, scope, { limit: SEARCHED_MAX, after: undefined });
  const hint = hintOf(reference, page, (record) => resource.nameOf(record));
  return fail('not_found', `There is no ${what} "${reference}" ${resource.placeOfNames(scope)}${hint}`);
}

function hintOf<R>(reference: string, { items, total }: Page<R>, nameOf: (record: R) => string): string {
  const names = items.map((record) => nameOf(record));
  const quoted = (some: readonly string[]): string[] => some.map((name) => `"${name}"`);
  const meant = namesMeant(reference, names);
  if (meant.length > 0) return `; did you mean ${quoted(meant).join(' or ')}?`;
  if (total === 0) return '; there is none yet';
  const listed = quoted(names.slice(0, LISTED_MAX)).join(', ');
  if (total === 1) return `; there is only ${listed}`;
  return `; there are ${listed}${total > LISTED_MAX ? ` and ${total - LISTED_MAX} more` : ''}`;
}
