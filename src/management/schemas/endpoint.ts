/** Endpoint (contract part 2 "Endpoint"): what a client writes, and what it reads. */
import { Type, type Static } from 'typebox';
import { closed, nullable, oneOf } from '../../model/schema-pieces.ts';
import { PolicySchema } from '../../policy/registry.ts';
import { id, path, recordFields } from './common.ts';

const method = oneOf(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', '*'], {
  description: 'HTTP method; `*` is any method. HEAD is served by a GET endpoint.',
});
const endpointPath = path(
  'Path below the version’s `gateway_path`. It may contain `{name}` segments and end with `*`.',
);
const backendPath = nullable(
  path(
    'Path to send to the backend instead of `path`. It may use the `{name}` segments and the `*` of `path`.',
  ),
);
const isActive = Type.Boolean({
  default: true,
  description: 'Whether the endpoint is served. Requests for an inactive endpoint get 404.',
});

export const EndpointInputSchema = Type.Object(
  {
    method,
    path: endpointPath,
    backend_path: Type.Optional(backendPath),
    policy_override: Type.Optional(nullable(PolicySchema)),
    is_active: Type.Optional(isActive),
  },
  { ...closed, title: 'EndpointInput' },
);
export type EndpointInput = Static<typeof EndpointInputSchema>;

export const EndpointSchema = Type.Object(
  {
    ...recordFields,
    revision_id: id('Id of the revision.'),
    method,
    path: endpointPath,
    backend_path: backendPath,
    policy_override: nullable(PolicySchema),
    is_active: isActive,
  },
  { ...closed, title: 'Endpoint' },
);
