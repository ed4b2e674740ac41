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
          after: Type.Unknown({ description: 'The same after.' }),
        },
        { ...closed, title: 'FieldChange' },
      ),
      { description: 'The fields that differ, secrets masked. Empty for a deletion.' },
    ),
    below: Type.Optional(count('Records below that go with a deleted one. Absent: none.')),
  },
  { ...closed, title: 'DeclaredChange' },
);

const PlanSideSchema = Type.Object(
  {
    status: nullable(
      Type.Integer({ description: 'Status. null: a backend answers, and did not when it was recorded.' }),
    ),
    code: nullable(Type.String({ description: 'Error code. null: none.' })),
    backends: Type.Array(Type.String(), {
      description: 'Where it goes; empty where the gateway itself answers.',
    }),
    cors_refused: Type.Boolean({
      description: 'Whether a browser keeps the answer from the page that asked.',
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
        kind: oneOf(CALLER_KINDS, { description: 'How it was recognised.' }),
        id: Type.String({ description: 'Id of the key, or subject; may be empty.' }),
        name: Type.String({ description: 'Name of the caller; may be empty.' }),
        app: nullable(Type.String({ description: 'Slug of the app of the requests.' })),
      },
      { ...closed, title: 'PlanCaller' },
    ),
    count: count('Number of requests.'),
    first: Type.String({ description: 'Method and path of the earliest of them.' }),
  },
  {
    ...closed,
    title: 'PlanTrafficGroup',
    description: 'Requests of one caller that would be answered differently.',
  },
);

const PlanTrafficSchema = Type.Object(
  {
    requests: count('Requests that were tried, the latest of those recorded.'),
    recorded: count('Requests that were recorded.'),
    since: nullable(dateTime('Start of the earliest that was tried. null: none was.')),
    changed: count('Requests that would be answered differently.'),
    undecided: count('Not among `changed`: what the planned configuration asks for was not recorded.'),
    groups: Type.Array(TrafficGroupSchema, { description: 'At most 50.' }),
    groups_total: count('Number of groups.'),
    problem: nullable(Type.String({ description: 'Why it cannot be said. null: it can.' })),
  },
  {
    ...closed,
    title: 'PlanTraffic',
    description: 'What recent requests would get on the planned configuration.',
  },
);

const CreatedKeySchema = Type.Object(
  {
    app: Type.String({ description: 'Slug of its app.' }),
    name: Type.String({ description: 'Name of the key.' }),
    id: Type.String({ description: 'Id of the key.' }),
    token: Type.String({ description: 'Its value, which is shown once.' }),
  },
  { ...closed, title: 'CreatedKey' },
);

const CHANGE_FIELDS = {
  base_version: count('Config version that the changes were worked out on.'),
  totals: Type.Object(
    {
      create: count('Records that are made.'),
      update: count('Records that are changed.'),
      delete: count('Records that are deleted, those below deleted ones included.'),
    },
    { ...closed, title: 'ChangeTotals' },
  ),
  changes: Type.Array(DeclaredChangeSchema, { description: 'The first 1,000.' }),
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
    created_keys: Type.Array(CreatedKeySchema, { description: 'Keys whose values the gateway made.' }),
  },
  { ...closed, title: 'ConfigApplied' },
);

export const ConfigPlanEnvelope = envelopeSchema('ConfigPlanEnvelope', ConfigPlanSchema);
export const ConfigAppliedEnvelope = envelopeSchema('ConfigAppliedEnvelope', ConfigAppliedSchema);
