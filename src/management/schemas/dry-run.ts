/** The answer of a write with `dry_run=true`: what would change for which endpoints, and the answer of the write. */
import { Type } from 'typebox';
import { closed, nullable, oneOf } from '../../model/schema-pieces.ts';
import { PART_NAMES } from '../../policy/registry.ts';
import { id } from './common.ts';
import { PolicySourceSchema } from './envelope.ts';

/** Maximum number of endpoints and keys in an answer; the totals count all. */
export const DRY_RUN_ITEMS_MAX = 100;

const change = (description: string) => oneOf(['added', 'removed', 'changed'], { description });

const PartSchema = nullable(
  Type.Object(
    {
      value: Type.Unknown({ description: 'Value of the part; secrets are masked.' }),
      source: PolicySourceSchema,
    },
    { ...closed, title: 'DryRunPart', description: 'The part in this state. null: no level sets it.' },
  ),
);

const StateSchema = nullable(
  Type.Object(
    {
      route: Type.String({ description: 'Gateway path and endpoint path.' }),
      hosts: Type.Optional(
        Type.Array(Type.String(), { description: 'Hosts of the app. Absent: it serves every host.' }),
      ),
      serves: Type.Boolean({ description: 'Whether requests reach the endpoint.' }),
    },
    { ...closed, title: 'DryRunState', description: 'The endpoint in this state. null: it does not exist.' },
  ),
);

const EndpointChangeSchema = Type.Object(
  {
    change: change('What happens to the endpoint.'),
    version: Type.String({ description: 'Label of the version.' }),
    revision: Type.String({ description: 'Label of the revision.' }),
    revision_id: id('Id of the revision.'),
    endpoint_id: nullable(id('Id of the endpoint. null: requests that match no endpoint of the revision.')),
    method: Type.String({ description: 'Method of the endpoint; `*` is any.' }),
    before: StateSchema,
    after: StateSchema,
    parts: Type.Array(
      Type.Object(
        {
          part: oneOf(PART_NAMES, { description: 'Part of the policy.' }),
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
        {
          before: Type.Boolean({ description: 'Before the write.' }),
          after: Type.Boolean({ description: 'After the write.' }),
        },
        { ...closed, title: 'DryRunAdmits', description: 'Whether the key gives access to the endpoint.' },
      ),
    ),
  },
  { ...closed, title: 'DryRunEndpoint' },
);

const KeyChangeSchema = Type.Object(
  {
    change: change('What happens to the key.'),
    id: id('Id of the key.'),
    name: nullable(Type.String({ description: 'Name of the key. null: it is removed with its app.' })),
  },
  { ...closed, title: 'DryRunKey' },
);

export const DryRunSchema = Type.Object(
  {
    would_answer: Type.Object(
      {
        status: Type.Integer({ description: 'Status of the answer without `dry_run`.' }),
        message: Type.String({ description: 'Message of the answer.' }),
        data: Type.Unknown({
          description:
            'The record after the write. null: it would be deleted. A real write creates other ids, times and token prefixes.',
        }),
      },
      { ...closed, title: 'DryRunAnswer', description: 'What the write would answer.' },
    ),
    endpoints_total: Type.Integer({ minimum: 0, description: 'Number of endpoints that would change.' }),
    endpoints: Type.Array(EndpointChangeSchema, {
      maxItems: DRY_RUN_ITEMS_MAX,
      description:
        'Endpoints that would change, at most 100. For a key: endpoints that would treat its callers differently.',
    }),
    keys_total: Type.Integer({ minimum: 0, description: 'Number of API keys that would change.' }),
    keys: Type.Array(KeyChangeSchema, {
      maxItems: DRY_RUN_ITEMS_MAX,
      description: 'API keys that would change, at most 100.',
    }),
  },
  { ...closed, title: 'DryRun' },
);
