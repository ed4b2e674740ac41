/** What a write with `dry_run=true` answers: what would change for which endpoints, and what the write would say. */
import { Type } from 'typebox';
import { nullable, POLICY_PARTS } from '../policy.ts';
import { closed, id } from './common.ts';
import { PolicySourceSchema } from './envelope.ts';

/** Endpoints and keys in an answer; the totals are of all. */
export const DRY_RUN_ITEMS_MAX = 100;

const PartSchema = nullable(
  Type.Object(
    {
      value: Type.Unknown({ description: 'The part as it applies; secrets are masked.' }),
      source: PolicySourceSchema,
    },
    { ...closed, title: 'DryRunPart' },
  ),
);

const StateSchema = nullable(
  Type.Object(
    {
      route: Type.String({ description: 'Gateway path and endpoint path.' }),
      serves: Type.Boolean({ description: 'Whether requests get there.' }),
    },
    { ...closed, title: 'DryRunState' },
  ),
);

const EndpointChangeSchema = Type.Object(
  {
    change: Type.Union(['added', 'removed', 'changed'].map((change) => Type.Literal(change))),
    version: Type.String(),
    revision: Type.String(),
    revision_id: id('Id of the revision.'),
    endpoint_id: nullable(id('Id of the endpoint; null: what no endpoint of the revision matches.')),
    method: Type.String({ description: 'As registered; `*` is any.' }),
    before: StateSchema,
    after: StateSchema,
    parts: Type.Array(
      Type.Object(
        {
          part: Type.Union(POLICY_PARTS.map((part) => Type.Literal(part))),
          before: PartSchema,
          after: PartSchema,
        },
        { ...closed, title: 'DryRunPartChange' },
      ),
      {
        description:
          'The parts of the effective policy that differ, in value or in the level that sets them.',
      },
    ),
    admits: nullable(
      Type.Object(
        { before: Type.Boolean(), after: Type.Boolean() },
        { ...closed, title: 'DryRunAdmits', description: 'Whether the key opens the endpoint.' },
      ),
    ),
  },
  { ...closed, title: 'DryRunEndpoint' },
);

const KeyChangeSchema = Type.Object(
  {
    change: Type.Union(['added', 'removed', 'changed'].map((change) => Type.Literal(change))),
    id: id('Id of the key.'),
    name: nullable(Type.String({ description: 'null for one that goes with its app.' })),
  },
  { ...closed, title: 'DryRunKey' },
);

export const DryRunSchema = Type.Object(
  {
    would_answer: Type.Object(
      {
        status: Type.Integer({ description: 'Status of the answer without `dry_run`.' }),
        message: Type.String(),
        data: Type.Unknown({
          description:
            'The record as it would be; null for a deletion. Ids, times and token prefixes of a new one would be others.',
        }),
      },
      { ...closed, title: 'DryRunAnswer' },
    ),
    endpoints_total: Type.Integer({ minimum: 0 }),
    endpoints: Type.Array(EndpointChangeSchema, {
      maxItems: DRY_RUN_ITEMS_MAX,
      description: 'For a key: the endpoints that treat its callers differently.',
    }),
    keys_total: Type.Integer({ minimum: 0 }),
    keys: Type.Array(KeyChangeSchema, { maxItems: DRY_RUN_ITEMS_MAX }),
  },
  { ...closed, title: 'DryRun' },
);
