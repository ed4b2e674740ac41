/** An app with everything below it but its endpoints: what `GET /api/v1/apps/{app_id}/tree` answers. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';
import { id } from '../common.ts';
import { RevisionHealthSchema } from '../revision-health.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });

const TreeRevisionSchema = Type.Object(
  {
    id: id('Id of the revision.'),
    revision: Type.String({ description: 'Label of the revision.' }),
    is_current: Type.Boolean({ description: 'Whether it takes traffic.' }),
    traffic_weight: count('Its weight among the current revisions of the version.'),
    traffic_share: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Its part of the weights of the current revisions, with every breaker closed.',
    }),
    breaker: nullable(
      oneOf(['closed', 'open', 'half_open'], {
        description: 'State of its circuit breaker. null: nothing is known of it.',
      }),
    ),
    health: nullable(
      Type.Pick(RevisionHealthSchema, ['consecutive_failures', 'probing', 'last_error', 'last_probe'], {
        ...closed,
        title: 'TreeRevisionHealth',
        description: 'State of its health. null: it is not current.',
      }),
    ),
    backend: Type.String({
      description:
        'Scheme, host, port and base path of the backend; of several targets, of the first; with discovery, where they are looked up.',
    }),
    targets: nullable(
      Type.Object(
        {
          total: count('How many there are.'),
          in_service: nullable(count('How many get requests now. null: it is not current.')),
          source: nullable(
            Type.String({ description: 'Where they are looked up. null: they are as written.' }),
          ),
        },
        { ...closed, title: 'TreeTargets', description: 'Its targets. null: it has one.' },
      ),
    ),
    endpoints: count('Number of its endpoints.'),
    has_policy: Type.Boolean({ description: 'Whether `default_policy` is set.' }),
    updated_at: dateTime('When the revision was last changed.'),
  },
  { ...closed, title: 'TreeRevision' },
);

export const TreeVersionSchema = Type.Object(
  {
    id: id('Id of the version.'),
    version: Type.String({ description: 'Label of the version.' }),
    gateway_path: Type.String({ description: 'Path prefix of the version.' }),
    status: oneOf(['active', 'deprecated', 'retired'], { description: 'Status of the version.' }),
    sunset_at: nullable(dateTime('When it will be removed.')),
    deprecated_at: nullable(dateTime('When it was or will be deprecated.')),
    successor: nullable(Type.String({ description: 'Its replacement.' })),
    endpoints: count('Number of endpoints of all its revisions.'),
    revisions_total: count('Number of its revisions.'),
    revisions: Type.Array(TreeRevisionSchema, {
      description: 'Oldest first. Of more than 200: the current ones, then the newest.',
    }),
  },
  { ...closed, title: 'TreeVersion' },
);

export type TreeVersion = Static<typeof TreeVersionSchema>;
export type TreeRevision = Static<typeof TreeRevisionSchema>;
