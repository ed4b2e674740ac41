/** Records of any kind that a text was found in: what `GET /api/v1/search` answers. */
import { Type, type Static } from 'typebox';
import { closed, nullable, oneOf } from '../../../model/schema-pieces.ts';
import { id } from '../common.ts';

const parent = (what: string) =>
  nullable(id(`Id of the ${what} that the record is or belongs to. null: it belongs to none.`));

const FoundSchema = Type.Object(
  {
    kind: oneOf(['app', 'version', 'revision', 'endpoint', 'api_key', 'admin_token'], {
      description: 'Type of the record.',
    }),
    id: id('Id of the record.'),
    label: Type.String({
      description: 'Slug, label, method and path, or name.',
    }),
    path: Type.String({
      description: 'The labels from the app down, for people: `billing / v1 / r2 / GET /invoices/{id}`.',
    }),
    match: oneOf(['exact', 'prefix', 'part'], {
      description: 'Whether the text was found as the whole, the beginning or another part of the value.',
    }),
    app_id: parent('app'),
    version_id: parent('version'),
    revision_id: parent('revision'),
  },
  { ...closed, title: 'Found' },
);

export const SearchSchema = Type.Object(
  {
    items: Type.Array(FoundSchema, {
      description:
        'Exact matches first, then matches that begin with the text, then the others. Within each of these groups: apps, versions, revisions, endpoints, keys and admin tokens, each with the shortest label first.',
    }),
    total: Type.Integer({
      minimum: 0,
      description: 'Number of all matches, including those that are not listed.',
    }),
    complete: Type.Boolean({
      description:
        'false: only a part of the records was searched, because there are too many or because the database is not available.',
    }),
  },
  { ...closed, title: 'SearchResult' },
);

export type Found = Static<typeof FoundSchema>;
