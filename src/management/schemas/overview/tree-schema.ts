/** An app with everything below it except its endpoints: what `GET /api/v1/apps/{app_id}/tree` answers. */
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
      description: 'Its share of the weights of the current revisions, if every breaker is closed.',
    }),
    breaker: nullable(
      oneOf(['closed', 'open', 'half_open'], {
        description: 'State of its circuit breaker. null: it is not known.',
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
        'Scheme, host, port and base path of the backend. With several targets: of the first target. With discovery: the source of the targets.',
    }),
    targets: nullable(
      Type.Object(
        {
          total: count('Number of targets.'),
          in_service: nullable(
            count('Number of targets that get requests now. null: the revision is not current.'),
          ),
          source: nullable(
            Type.String({ description: 'Source of the targets. null: they are part of the revision.' }),
          ),
        },
        { ...closed, title: 'TreeTargets', description: 'Its targets. null: it has only one.' },
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
      description: 'Oldest first. If there are more than 200: the current revisions, then the newest.',
    }),
  },
  { ...closed, title: 'TreeVersion' },
);

export type TreeVersion = Static<typeof TreeVersionSchema>;
export type TreeRevision = Static<typeof TreeRevisionSchema>;
