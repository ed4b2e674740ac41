/**
 * Revisions (contract part 2 and 3), with activation: several revisions of a version may be current at once, which
 * is how weights work; `exclusive` makes one the only current one in one atomic step.
 */
import type { App, Revision, Version } from '../../../model/resources.ts';
import type { FieldError } from '../../../model/errors.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import {
  ActivateInputSchema,
  RevisionCreationSchema,
  RevisionInputSchema,
  RevisionSchema,
  type ActivateInput,
  type RevisionCreation,
  type RevisionInput,
} from '../../schemas/revision.ts';
import { parseBasePath } from '../../../config/path-patterns.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { nullable } from '../../../model/schema-pieces.ts';
import { BreakerSchema, RevisionHealthSchema } from '../../schemas/revision-health.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
import { parentNames } from '../../write/audit-names.ts';
import type { ManagementContext } from '../../context.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { itemPath, locate, recordEnvelope, rulesOf } from '../../crud/locate.ts';
import { checkIfMatch, entityTag } from '../../api/entity-tag.ts';
import { answer, conflict, invalid, isFailure, type Failure } from '../../api/failure.ts';
import type { Operation } from '../../api/operation.ts';
import { requireOneOf } from '../../../model/json-schema.ts';
import { DRY_RUN_QUERY, NO_QUERY } from '../../api/query.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { unknownName } from '../../crud/unknown-name.ts';
import { certificatesError, serverNameError } from '../../write/rules/backend.ts';
import { healthCheckErrors } from '../../write/rules/health-check.ts';
import { labelErrors } from '../../write/rules/labels.ts';
import { policyErrors, storedPolicy } from '../../write/rules/policy.ts';
import {
  balancingErrors,
  egressErrors,
  placeBackend,
  withoutReplacedForm,
} from '../../write/rules/targets.ts';
import { maskPolicy } from '../../write/policy-secrets-view.ts';
import { revisionRemovalWarnings, revisionWarnings } from '../../write/warnings/revision.ts';
import { nextUpdatedAt } from '../../write/write.ts';
import { countedBelow } from './apps.ts';
import { copyEndpoints } from './copy-endpoints.ts';
import { findVersionScope } from './versions.ts';

interface Scope {
  readonly app: App;
  readonly version: Version;
}

/** The ways to say where a revision runs; see rules/targets.ts. */
const BACKEND_FORMS = ['backend_host', 'targets', 'discovery'];

export const revisions: Resource<Scope, RevisionInput, Revision> = {
  type: 'revision',
  names: ['Revision', 'Revisions'],
  operationNames: ['Revision', 'Revisions'],
  tag: 'Revisions',
  collection: '/apps/{app_id}/versions/{version_id}/revisions',
  parameter: 'revision_id',
  filteredAs: 'revision',
  dryRun: true,
  access: { read: 'viewer', write: 'editor' },
  inputSchema: requireOneOf(jsonSchema(RevisionInputSchema), BACKEND_FORMS),
  creationSchema: requireOneOf(jsonSchema(RevisionCreationSchema), BACKEND_FORMS),
  schema: jsonSchema(RevisionSchema),
  example: {
    input: { revision: 'r1', backend_host: 'billing.internal', backend_port: 443, is_current: true },
    patch: { traffic_weight: 10 },
  },
  scope: findVersionScope,
  list: (reader, { version }, page) => reader.listRevisions(version.id, page),
  find: (reader, { version }, reference) => reader.findRevision(version.id, reference),
  build: buildRevision,
  insert: (writer, revision) => writer.insertRevision(revision),
  async complete(writer, scope, { copy_endpoints_from: from }: Partial<RevisionCreation>, revision, rules) {
    return from === undefined ? undefined : copyEndpoints(writer, scope, from, revision, rules.clock);
  },
  async update(writer, revision) {
    await writer.updateRevision(revision);
    return undefined;
  },
  remove: (writer, revision) => writer.deleteRevision(revision.id),
  children: async (writer, revision) => countedBelow(await writer.countEndpoints(revision.id), 'endpoint'),
  writable(revision) {
    const {
      id: _id,
      created_at: _createdAt,
      updated_at: _updatedAt,
      version_id: _parent,
      ...writable
    } = revision;
    return writable;
  },
  patchBase: withoutReplacedForm,
  present: (revision) => ({ ...revision, default_policy: maskPolicy(revision.default_policy) }),
  nameOf: ({ revision }) => revision,
  placeOfNames: ({ app, version }) => `in version "${version.version}" of app "${app.slug}"`,
  warnings: (rules, scope, revision, previous, sent) =>
    revisionWarnings(scope, revision, previous, rules, sent),
  removalWarnings: (rules, scope, removed) => revisionRemovalWarnings(scope, removed, rules),
  touched: ({ version }) => ({ appIds: [], versionIds: [version.id], keyIds: [] }),
};

/** The revision that a path names, with its parents, for the resources below it. */
export async function findRevisionScope(
  reader: ConfigReader,
  params: Readonly<Record<string, string>>,
): Promise<(Scope & { readonly revision: Revision }) | Failure> {
  const scope = await findVersionScope(reader, params);
  if (isFailure(scope)) return scope;
  const reference = params['revision_id'] ?? '';
  const revision = await reader.findRevision(scope.version.id, reference);
  return revision === undefined ? unknownName(revisions, reader, scope, reference) : { ...scope, revision };
}

async function buildRevision(
  input: RevisionInput,
  base: RecordBase,
  previous: Revision | undefined,
  { version }: Scope,
  rules: RuleContext,
): Promise<Built<Revision> | Failure> {
  const placed = placeBackend(input);
  const basePath = input.backend_base_path ?? '/';
  const parsedBase = parseBasePath(basePath);
  const errors = [
    ...labelErrors(input.revision, '/revision'),
    ...('error' in parsedBase ? [{ pointer: '/backend_base_path', detail: parsedBase.error }] : []),
    ...protocolErrors(input),
    ...tlsErrors(input.backend_tls),
    ...healthCheckErrors(input),
    ...balancingErrors(input.load_balancing),
    ...policyErrors(input.default_policy, '/default_policy', rules),
  ];
  if ('errors' in placed) return invalid([...placed.errors, ...errors]);
  errors.push(...egressErrors(placed, previous, rules));
  if (errors.length > 0) return invalid(errors);
  const sameLabel = await rules.reader.findRevision(version.id, input.revision);
  if (sameLabel !== undefined && sameLabel.id !== base.id) {
    return conflict(
      '/revision',
      `"${input.revision}" is already a revision of the version "${version.version}"`,
    );
  }
  return {
    record: {
      ...base,
      version_id: version.id,
      revision: input.revision,
      backend_scheme: input.backend_scheme ?? 'https',
      backend_protocol: input.backend_protocol ?? 'http1',
      backend_host: placed.backend_host,
      backend_port: placed.backend_port,
      backend_base_path: basePath,
      strip_gateway_path: input.strip_gateway_path ?? true,
      preserve_host: input.preserve_host ?? false,
      traffic_weight: input.traffic_weight ?? 100,
      health_check_path: input.health_check_path ?? null,
      default_policy: storedPolicy(input.default_policy),
      is_current: input.is_current ?? false,
      backend_tls: input.backend_tls ?? null,
      circuit_breaker: input.circuit_breaker ?? null,
      targets: placed.targets,
      discovery: placed.discovery,
      load_balancing: input.load_balancing ?? null,
    },
  };
}

/** Without TLS there is no ALPN, with which a backend could choose. */
function protocolErrors({ backend_protocol: protocol, backend_scheme: scheme }: RevisionInput): FieldError[] {
  if (protocol !== 'auto' || scheme !== 'http') return [];
  return [{ pointer: '/backend_protocol', detail: 'can be "auto" only with the backend_scheme "https"' }];
}

function tlsErrors(tls: RevisionInput['backend_tls']): FieldError[] {
  const nameError = tls?.server_name === undefined ? undefined : serverNameError(tls.server_name);
  const caError = tls?.ca === undefined ? undefined : certificatesError(tls.ca);
  return [
    ...(nameError === undefined ? [] : [{ pointer: '/backend_tls/server_name', detail: nameError }]),
    ...(caError === undefined ? [] : [{ pointer: '/backend_tls/ca', detail: caError }]),
    ...(tls?.pins === undefined || tls.verify !== false
      ? []
      : [
          {
            pointer: '/backend_tls/pins',
            detail: 'needs `verify`; `ca` may be the certificate of the backend itself',
          },
        ]),
  ];
}

/** `POST …/activate` and `POST …/deactivate`. */
export function activationOperations(context: ManagementContext): Operation[] {
  return [activation('activate', context), activation('deactivate', context)];
}

function activation(verb: 'activate' | 'deactivate', context: ManagementContext): Operation {
  const activate = verb === 'activate';
  return {
    method: 'POST',
    path: `${itemPath(revisions)}/${verb}`,
    operationId: `${verb}Revision`,
    tag: revisions.tag,
    summary: activate ? 'Make a revision current' : 'Take a revision out of traffic',
    description: activate
      ? 'Other revisions stay as they are, unless `exclusive` is true.'
      : 'Other revisions stay as they are.',
    access: 'editor',
    query: DRY_RUN_QUERY,
    ...(activate && {
      body: {
        schema: jsonSchema(ActivateInputSchema),
        required: false,
        mergePatch: false,
        example: { exclusive: true },
      },
    }),
    entityTag: true,
    isWrite: true,
    success: { status: 200, description: 'The revision', schema: recordEnvelope(revisions) },
    failures: [],
    handle: (call) =>
      context.change(call, async (writer) => {
        const located = await locate(revisions, writer, call.params);
        if (isFailure(located)) return located;
        const { scope, record: previous } = located;
        const stale = checkIfMatch(call.ifMatch, entityTag(revisions.present(previous)));
        if (stale !== undefined) return stale;
        // Deactivation takes no body and must ignore one.
        const asked = activate ? (call.body as ActivateInput | undefined)?.exclusive : undefined;
        const exclusive = asked === true;
        const updated_at = nextUpdatedAt(previous.updated_at, context.clock.nowMs());
        const isOther = previous.is_current !== activate;
        const revision: Revision = isOther ? { ...previous, is_current: activate, updated_at } : previous;
        let changed = Number(isOther);
        if (activate) {
          changed = await writer.setCurrentRevision(scope.version.id, revision.id, exclusive, updated_at);
        } else if (isOther) await writer.updateRevision(revision);
        const served = revisions.present(revision);
        const rules = rulesOf(context, writer);
        // `exclusive`, also when false, says what is meant for the other revisions.
        const sent = asked === undefined ? {} : undefined;
        const warnings = () => revisionWarnings(scope, revision, previous, rules, sent);
        if (changed === 0) {
          const unchanged = answer(200, 'Revision unchanged', served, { ETag: entityTag(served) });
          return { unchanged, warnings };
        }
        return {
          answer: answer(200, `Revision ${verb}d`, served, { ETag: entityTag(served) }),
          touched: revisions.touched(scope, revision),
          previousTag: entityTag(revisions.present(previous)),
          warnings,
          audit: {
            action: `revision.${verb}`,
            resourceType: 'revision',
            resourceId: revision.id,
            resourceName: revision.revision,
            parents: parentNames(scope),
            change: exclusive ? { is_current: activate, exclusive } : { is_current: activate },
          },
        };
      }),
  };
}

/** `GET …/breaker`: the state of the circuit breaker in the workers. */
export function breakerOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${itemPath(revisions)}/breaker`,
    operationId: 'getRevisionBreaker',
    tag: revisions.tag,
    summary: 'State of a revision’s circuit breaker',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The state over all workers; null while it is not known',
      schema: jsonSchema(envelopeSchema('BreakerEnvelope', nullable(BreakerSchema))),
    },
    failures: [],
    handle: async (call) => {
      const located = await context.repository.read((reader) => locate(revisions, reader, call.params));
      if (isFailure(located)) return located;
      return answer(200, 'Breaker state', context.status.breakerState(located.record.id) ?? null);
    },
  };
}

/** `GET …/health`: the breaker with its history, from the answering node. */
export function healthOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${itemPath(revisions)}/health`,
    operationId: 'getRevisionHealth',
    tag: revisions.tag,
    summary: 'Health of a revision’s backend',
    description:
      'The health as this node sees it, over all of its workers. `last_error` is up to date within a second. A restart or a change of the backend resets everything.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'State of the breaker, last error, last health check and history',
      schema: jsonSchema(envelopeSchema('RevisionHealthEnvelope', RevisionHealthSchema)),
    },
    failures: [],
    handle: async (call) => {
      const located = await context.repository.read((reader) => locate(revisions, reader, call.params));
      if (isFailure(located)) return located;
      return answer(200, 'Revision health', context.status.revisionHealth(located.record));
    },
  };
}
