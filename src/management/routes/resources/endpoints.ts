/** Endpoints (contract part 2 and 3): method and path below a revision. */
import type { App, Endpoint, Revision, Version } from '../../../model/resources.ts';
import { EndpointInputSchema, EndpointSchema, type EndpointInput } from '../../schemas/endpoint.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { backendPathError, endpointShape, parseEndpointPath } from '../../../config/path-patterns.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { conflict, invalid, type Failure } from '../../api/failure.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { policyErrors, storedPolicy } from '../../write/rules/policy.ts';
import { maskPolicy } from '../../write/policy-secrets-view.ts';
import { endpointRemovalWarnings, endpointWarnings } from '../../write/warnings/endpoint.ts';
import { findRevisionScope } from './revisions.ts';

interface Scope {
  readonly app: App;
  readonly version: Version;
  readonly revision: Revision;
}

export const endpoints: Resource<Scope, EndpointInput, Endpoint> = {
  type: 'endpoint',
  names: ['Endpoint', 'Endpoints'],
  operationNames: ['Endpoint', 'Endpoints'],
  tag: 'Endpoints',
  collection: '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints',
  parameter: 'endpoint_id',
  filteredAs: 'endpoint',
  dryRun: true,
  access: { read: 'viewer', write: 'editor' },
  inputSchema: jsonSchema(EndpointInputSchema),
  schema: jsonSchema(EndpointSchema),
  example: { input: { method: 'GET', path: '/invoices/{invoice_id}' }, patch: { is_active: false } },
  scope: findRevisionScope,
  list: (reader, { revision }, page) => reader.listEndpoints(revision.id, page),
  find: (reader, { revision }, reference) => reader.findEndpoint(revision.id, reference),
  build: buildEndpoint,
  insert: (writer, endpoint) => writer.insertEndpoint(endpoint),
  async update(writer, endpoint) {
    await writer.updateEndpoint(endpoint);
    return undefined;
  },
  nameOf: ({ method, path }) => `${method} ${path}`,
  remove: (writer, endpoint) => writer.deleteEndpoint(endpoint.id),
  writable(endpoint) {
    const {
      id: _id,
      created_at: _createdAt,
      updated_at: _updatedAt,
      revision_id: _parent,
      ...writable
    } = endpoint;
    return writable;
  },
  present: (endpoint) => ({ ...endpoint, policy_override: maskPolicy(endpoint.policy_override) }),
  warnings: (rules, scope, endpoint) => endpointWarnings(scope, endpoint, rules),
  removalWarnings: (rules, scope) => endpointRemovalWarnings(scope, rules),
  touched: ({ version, revision }, { id }) => ({
    appIds: [],
    versionIds: [version.id],
    endpoints: [{ versionId: version.id, revisionId: revision.id, endpointId: id }],
    keyIds: [],
  }),
};

async function buildEndpoint(
  input: EndpointInput,
  base: RecordBase,
  previous: Endpoint | undefined,
  { revision }: Scope,
  rules: RuleContext,
): Promise<Built<Endpoint> | Failure> {
  const pattern = parseEndpointPath(input.path);
  const names = 'error' in pattern ? undefined : pattern.names;
  const errors = policyErrors(input.policy_override, '/policy_override', rules, names);
  if ('error' in pattern) errors.unshift({ pointer: '/path', detail: pattern.error });
  else if (input.backend_path) {
    const detail = backendPathError(input.backend_path, pattern);
    if (detail !== undefined) errors.unshift({ pointer: '/backend_path', detail });
  }
  if (errors.length > 0) return invalid(errors);
  if (previous?.path !== input.path || previous.method !== input.method) {
    const other = await findSameRequests(rules.reader, revision.id, input, base.id);
    if (other !== undefined) {
      const detail = `"${input.path}" with method "${input.method}" is already registered as "${other.path}" (${other.id})`;
      return conflict('/path', detail);
    }
  }
  return {
    record: {
      ...base,
      revision_id: revision.id,
      method: input.method,
      path: input.path,
      backend_path: input.backend_path ?? null,
      policy_override: storedPolicy(input.policy_override),
      is_active: input.is_active ?? true,
    },
  };
}

/**
 * Another endpoint that matches exactly the same requests. `/a/{x}` and `/a/{y}` do, which a unique index does
 * not detect. Such paths have the same text before their first parameter, so only those are compared.
 */
async function findSameRequests(
  reader: ConfigReader,
  revisionId: string,
  { method, path }: EndpointInput,
  ownId: string,
): Promise<Pick<Endpoint, 'id' | 'path'> | undefined> {
  const same = await reader.findEndpointByMethodAndPath(revisionId, method, path);
  if (same !== undefined && same.id !== ownId) return same;
  const parameter = path.indexOf('{');
  if (parameter < 0) return undefined;
  const shape = endpointShape(path);
  const others = await reader.findEndpointPaths(revisionId, method, path.slice(0, parameter + 1));
  return others.find((other) => other.id !== ownId && endpointShape(other.path) === shape);
}
