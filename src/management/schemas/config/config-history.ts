/** The answers of the API about the history of the configuration. */
import { Type } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';
import { listSchema, PageSchema } from '../envelope.ts';

const RECORD_TYPE = oneOf(['app', 'version', 'revision', 'endpoint', 'key']);
const RECORD_PATH = Type.Array(Type.String(), { description: 'Names at that time, from the app down.' });

const HISTORY_FIELDS = {
  config_version: Type.Integer({ description: 'Config version that the write created.' }),
  at: dateTime('When the version was created.'),
  actor: Type.String({ description: 'Who made the write, as in the audit log.' }),
  address: nullable(
    Type.String({
      description: 'Address of the client. null: there is none, or the caller is not an `admin`.',
    }),
  ),
  request_id: nullable(Type.String({ description: 'Id of the exchange, as in `X-Request-Id`.' })),
  source: Type.String({
    description:
      'Origin of the write: `api`, `cli`, `console`, `import`, or `system` for the gateway itself.',
  }),
  commit: nullable(Type.String({ description: 'Git commit that the caller named.' })),
  action: Type.String({ description: 'What was done, for example `config.apply`.' }),
  message: nullable(Type.String({ description: 'Reason for the write, as the caller gave it.' })),
  first_record: nullable(
    Type.Object(
      { type: RECORD_TYPE, path: RECORD_PATH },
      {
        ...closed,
        description:
          'The first record that the version changed. null: it changed no record, or the records are not kept.',
      },
    ),
  ),
  changed_records: Type.Integer({ minimum: 0, description: 'Number of records that the version changed.' }),
  is_complete: Type.Boolean({
    description:
      'False: the version changed more than the history can hold, so its records and all earlier versions are not kept.',
  }),
};

const ConfigVersionSchema = Type.Object(HISTORY_FIELDS, {
  ...closed,
  title: 'ConfigVersion',
  description: 'One version of the configuration.',
});

export const ConfigVersionListSchema = Type.Object(
  {
    ...listSchema('ConfigVersionList', ConfigVersionSchema).properties,
    kept_from: Type.Integer({
      minimum: 0,
      description: 'The oldest version whose state is known, and which can be restored or compared.',
    }),
  },
  { ...closed, title: 'ConfigVersionList' },
);

const CHANGE = oneOf(['create', 'update', 'delete']);
const RECORD = nullable(Type.Record(Type.String(), Type.Unknown()));

const RecordChangeSchema = Type.Object(
  {
    change: CHANGE,
    type: RECORD_TYPE,
    path: RECORD_PATH,
    id: Type.String({ description: 'Id of the record.' }),
    app_id: Type.String({ description: 'Id of its app.' }),
    before: Type.Union(RECORD.anyOf, {
      description: 'The record before, with secrets masked. null: it was created.',
    }),
    after: Type.Union(RECORD.anyOf, {
      description: 'The record after, with secrets masked. null: it was deleted.',
    }),
  },
  { ...closed, title: 'RecordChange' },
);

export const ConfigVersionEnvelopeSchema = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.' }),
    message: Type.String({ description: 'What was done, for people.' }),
    data: Type.Object(
      {
        ...HISTORY_FIELDS,
        changes: Type.Array(RecordChangeSchema, {
          description: 'A page of the records that the version changed.',
        }),
      },
      { ...closed, title: 'ConfigVersionWithChanges' },
    ),
    page: PageSchema,
  },
  { ...closed, title: 'ConfigVersionEnvelope' },
);

/** Changes in the form of plans: the same in every answer about changes. */
const ListedChangesFields = {
  totals: Type.Object(
    { create: Type.Integer(), update: Type.Integer(), delete: Type.Integer() },
    { ...closed, description: 'Numbers of records, including those below deleted records.' },
  ),
  changes: Type.Array(
    Type.Object(
      {
        change: CHANGE,
        type: Type.String(),
        path: Type.Array(Type.String()),
        fields: Type.Record(Type.String(), Type.Unknown(), {
          description: 'Each field that differs, with `before` and `after`; null stands for the default.',
        }),
        below: Type.Optional(Type.Integer({ description: 'Number of records below a deleted record.' })),
      },
      { ...closed, title: 'ListedChange' },
    ),
    { description: 'At most 1,000 changes.' },
  ),
};

export const ConfigDiffSchema = Type.Object(
  {
    from: Type.Integer(),
    to: Type.Integer(),
    ...ListedChangesFields,
    text: nullable(
      Type.String({
        description:
          'Unified diff of the declared files of the apps that differ. null: it is too long; see `changes`.',
      }),
    ),
  },
  { ...closed, title: 'ConfigDiff' },
);

export const RollbackSchema = Type.Object(
  {
    base_version: Type.Integer({ description: 'Config version that was in force before the rollback.' }),
    rolled_back_to: Type.Integer(),
    ...ListedChangesFields,
    not_restored: Type.Array(
      Type.Object(
        {
          app: Type.String({ description: 'Slug of the app.' }),
          key: Type.String({ description: 'Name of the key.' }),
          id: Type.String({ description: 'Id of the key.' }),
          reasons: Type.Array(
            Type.Union(
              ['deleted', 'expired', 'value', 'inactive', 'scopes', 'expires_at'].map((name) =>
                Type.Literal(name),
              ),
            ),
            {
              description:
                '`deleted`, `expired`: the key does not come back. `value`: the key was rotated, and keeps its new value. `inactive`, `scopes`, `expires_at`: the key keeps its present, narrower rights.',
            },
          ),
        },
        { ...closed, title: 'NotRestoredKey' },
      ),
      { description: 'Keys that are not fully restored; at most 1,000.' },
    ),
    not_restored_total: Type.Integer({ minimum: 0 }),
  },
  { ...closed, title: 'Rollback' },
);
