/** The answers of a plan and an apply of a declared configuration. */
import { Type } from 'typebox';
import { CALLER_KINDS } from '../../../model/auth/caller-kinds.ts';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';
import { envelopeSchema } from '../envelope.ts';

const CHANGES = ['create', 'update', 'delete'] as const;
const count = (description: string) => Type.Integer({ minimum: 0, description });

const DeclaredChangeSchema = Type.Object(
  {
    change: oneOf(CHANGES, { description: 'What happens to the record.' }),
    type: oneOf(['app', 'version', 'revision', 'endpoint', 'key'], { description: 'Type of the record.' }),
    path: Type.Array(Type.String(), { description: 'Labels from the app down.' }),
    fields: Type.Record(
      Type.String(),
      Type.Object(
        {
          before: Type.Unknown({ description: 'Previous value of the field; null if it had none.' }),
          after: Type.Unknown({ description: 'New value of the field; null if it has none.' }),
        },
        { ...closed, title: 'FieldChange' },
      ),
      { description: 'The fields that differ, with secrets masked. Empty for a deletion.' },
    ),
    below: Type.Optional(
      count('Number of records below a deleted record, which are deleted with it. Absent: none.'),
    ),
  },
  { ...closed, title: 'DeclaredChange' },
);

const PlanSideSchema = Type.Object(
  {
    status: nullable(
      Type.Integer({
        description: 'Status. null: a backend would answer, but none answered when the request was recorded.',
      }),
    ),
    code: nullable(Type.String({ description: 'Error code. null: none.' })),
    backends: Type.Array(Type.String(), {
      description: 'Where the request goes; empty if the gateway itself answers.',
    }),
    cors_refused: Type.Boolean({
      description: 'Whether a browser withholds the answer from the page that sent the request.',
    }),
  },
  { ...closed, title: 'PlanSide' },
);

const TrafficGroupSchema = Type.Object(
  {
    from: PlanSideSchema,
    to: PlanSideSchema,
    by: Type.Object(
      {
        kind: oneOf(CALLER_KINDS, { description: 'How the caller was identified.' }),
        id: Type.String({ description: 'Id of the key, or subject; may be empty.' }),
        name: Type.String({ description: 'Name of the caller; may be empty.' }),
        app: nullable(Type.String({ description: 'Slug of the app of the requests.' })),
      },
      { ...closed, title: 'PlanCaller' },
    ),
    count: count('Number of requests.'),
    first: Type.String({ description: 'Method and path of the earliest request.' }),
  },
  {
    ...closed,
    title: 'PlanTrafficGroup',
    description: 'Requests of one caller that would get a different answer.',
  },
);

const PlanTrafficSchema = Type.Object(
  {
    requests: count('Number of requests that were tried: the latest of the recorded ones.'),
    recorded: count('Number of recorded requests.'),
    since: nullable(dateTime('Start of the earliest request that was tried. null: none was tried.')),
    changed: count('Number of requests that would get a different answer.'),
    undecided: count(
      'Number of requests that are not in `changed`, because facts that the planned configuration needs were not recorded.',
    ),
    groups: Type.Array(TrafficGroupSchema, { description: 'At most 50.' }),
    groups_total: count('Number of groups.'),
    problem: nullable(
      Type.String({ description: 'Why the numbers could not be determined. null: they could.' }),
    ),
  },
  {
    ...closed,
    title: 'PlanTraffic',
    description: 'What recent requests would get with the planned configuration.',
  },
);

const CreatedKeySchema = Type.Object(
  {
    app: Type.String({ description: 'Slug of its app.' }),
    name: Type.String({ description: 'Name of the key.' }),
    id: Type.String({ description: 'Id of the key.' }),
    token: Type.String({ description: 'Value of the key, which is shown only once.' }),
  },
  { ...closed, title: 'CreatedKey' },
);

const CHANGE_FIELDS = {
  base_version: count('Config version on which the changes are based.'),
  totals: Type.Object(
    {
      create: count('Records that are created.'),
      update: count('Records that are changed.'),
      delete: count('Records that are deleted, including those below deleted records.'),
    },
    { ...closed, title: 'ChangeTotals' },
  ),
  changes: Type.Array(DeclaredChangeSchema, { description: 'The first 1,000 changes.' }),
};

const ConfigPlanSchema = Type.Object(
  {
    ...CHANGE_FIELDS,
    traffic: Type.Optional(
      Type.Union([PlanTrafficSchema, Type.Null()], {
        description: 'null: nothing would change. Absent with `traffic: false`.',
      }),
    ),
  },
  { ...closed, title: 'ConfigPlanned' },
);

const ConfigAppliedSchema = Type.Object(
  {
    ...CHANGE_FIELDS,
    created_keys: Type.Array(CreatedKeySchema, {
      description: 'Keys whose values the gateway has generated.',
    }),
  },
  { ...closed, title: 'ConfigApplied' },
);

export const ConfigPlanEnvelope = envelopeSchema('ConfigPlanEnvelope', ConfigPlanSchema);
export const ConfigAppliedEnvelope = envelopeSchema('ConfigAppliedEnvelope', ConfigAppliedSchema);
