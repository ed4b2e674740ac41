/**
 * The changing operations of a resource: PATCH merges into the record (RFC 7396), PUT replaces it. Both create a
 * whole input, which passes the same checks as for a creation, inside the transaction.
 */
import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../../lib/text/json-pointer.ts';
import { patchSchema } from '../../model/json-schema.ts';
import { parentNames } from '../write/audit-names.ts';
import type { ManagementContext } from '../context.ts';
import { checkIfMatch, entityTag } from '../api/entity-tag.ts';
import { answer, invalid, isFailure, type Failure } from '../api/failure.ts';
import { itemPath, locate, oneOf, readOnlyNames, recordEnvelope, rulesOf, withoutBase } from './locate.ts';
import { mergePatch } from '../api/merge-patch.ts';
import type { Operation, OperationBody } from '../api/operation.ts';
import { DRY_RUN_QUERY, NO_QUERY } from '../api/query.ts';
import type { Resource, StoredRecord } from './resource.ts';
import { restoreSecrets } from '../write/policy-secrets-view.ts';
import { validate } from '../api/validate.ts';
import { nextUpdatedAt } from '../write/write.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The two kinds of a change. */
interface ChangeKind {
  readonly method: 'PATCH' | 'PUT';
  /** Start of the operation id. */
  readonly verb: string;
  readonly summary: string;
  readonly description: string;
  /** Creates the input from the stored fields and the body; absent: the body is the input. */
  readonly mergesInto?: (writable: Fields, sent: unknown) => unknown;
}

const PATCH: ChangeKind = {
  method: 'PATCH',
  verb: 'update',
  summary: 'Change',
  description:
    'JSON Merge Patch (RFC 7396): objects merge at every depth, `null` removes a field, so that its default applies again, and arrays are replaced as a whole. The whole result must be valid.',
  mergesInto: mergePatch,
};

const PUT: ChangeKind = {
  method: 'PUT',
  verb: 'replace',
  summary: 'Replace',
  description:
    'Replaces all fields that a client can write. The body is the same as for a creation: fields that are left out get their default. A secret with the value `********` keeps its stored value.',
};

export function updateOperations<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  update: NonNullable<Resource<S, I, R>['update']>,
  context: ManagementContext,
): Operation[] {
  return [PUT, PATCH].map((kind) => changeOperation(kind, resource, update, context));
}

function changeOperation<S extends object, I, R extends StoredRecord>(
  kind: ChangeKind,
  resource: Resource<S, I, R>,
  update: NonNullable<Resource<S, I, R>['update']>,
  context: ManagementContext,
): Operation {
  const [name] = resource.names;
  return {
    method: kind.method,
    path: itemPath(resource),
    operationId: `${kind.verb}${resource.operationNames[0]}`,
    tag: resource.tag,
    summary: `${kind.summary} ${oneOf(resource)}`,
    description: kind.description,
    access: resource.access.write,
    query: resource.dryRun ? DRY_RUN_QUERY : NO_QUERY,
    body: bodyOf(kind, resource),
    entityTag: true,
    isWrite: true,
    success: {
      status: 200,
      description: `The changed ${name.toLowerCase()}`,
      schema: recordEnvelope(resource),
    },
    failures: ['conflict'],
    handle: (call) =>
      context.change(call, async (writer) => {
        const located = await locate(resource, writer, call.params);
        if (isFailure(located)) return located;
        const { scope, record: previous } = located;
        const before = resource.present(previous);
        const stale = checkIfMatch(call.ifMatch, entityTag(before));
        if (stale !== undefined) return stale;

        const writable = resource.writable(previous);
        const input = inputOf(kind, resource, writable, restoreSecrets(call.body, writable));
        const errors = validate(resource.inputSchema, input);
        if (errors.length > 0) return withLeftovers(invalid(errors), call.body, input);
        const base = { id: previous.id, created_at: previous.created_at, updated_at: previous.updated_at };
        const rules = rulesOf(context, writer);
        const built = await resource.build(input as I, base, previous, scope, rules);
        if (isFailure(built)) return withLeftovers(built, call.body, input);
        if (isDeepStrictEqual(built.record, previous)) {
          const unchanged = answer(200, `${name} unchanged`, before, { ETag: entityTag(before) });
          return { unchanged, warnings: () => resource.warnings?.(rules, scope, previous, previous) };
        }
        const record: R = {
          ...built.record,
          updated_at: nextUpdatedAt(previous.updated_at, context.clock.nowMs()),
        };
        const refused = await update(writer, record, previous, rules);
        if (refused !== undefined) return refused;
        const served = resource.present(record);
        return {
          answer: answer(200, `${name} updated`, served, { ETag: entityTag(served) }),
          touched: resource.touched(scope, record),
          previousTag: entityTag(before),
          warnings: () => resource.warnings?.(rules, scope, record, previous, call.body as Fields),
          audit: {
            action: `${resource.type}.update`,
            resourceType: resource.type,
            resourceId: record.id,
            resourceName: resource.nameOf(record),
            parents: parentNames(scope),
            change: changedFields(record, previous, resource.presentMasked?.(record) ?? served),
          },
        };
      }),
  };
}

/** The input for the record: `sent` with its secrets restored. */
function inputOf<S extends object, I, R extends StoredRecord>(
  { mergesInto }: ChangeKind,
  { patchBase }: Resource<S, I, R>,
  writable: Fields,
  sent: unknown,
): unknown {
  return mergesInto === undefined ? sent : mergesInto(patchBase?.(writable, sent) ?? writable, sent);
}

function bodyOf<S extends object, I, R extends StoredRecord>(
  { method }: ChangeKind,
  resource: Resource<S, I, R>,
): OperationBody {
  const { inputSchema, example } = resource;
  const isPatch = method === 'PATCH';
  return {
    schema: isPatch ? patchSchema(inputSchema, `${resource.operationNames[0]}Patch`) : inputSchema,
    required: true,
    mergePatch: isPatch,
    keepsMaskedSecrets: true,
    readOnly: readOnlyNames(resource, resource.inputSchema),
    example: isPatch ? example.patch : example.input,
  };
}

/** The changed fields in their served form. Compares the stored form, so a changed secret counts. */
function changedFields<R extends StoredRecord>(
  record: R,
  previous: R,
  served: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const changed: Record<string, unknown> = {};
  for (const name of Object.keys(withoutBase(served))) {
    const now: unknown = record[name as keyof R];
    if (!isDeepStrictEqual(now, previous[name as keyof R])) changed[name] = served[name];
  }
  return changed;
}

/** Explains wrong fields that the patch did not contain but the record has, and how to remove them. */
function withLeftovers(failure: Failure, sent: unknown, input: unknown): Failure {
  if (failure.failure !== 'validation_failed' || failure.errors === undefined) return failure;
  return invalid(
    failure.errors.map(({ pointer, detail }) => {
      const isLeftover = valueAt(sent, pointer) === undefined && valueAt(input, pointer) !== undefined;
      return {
        pointer,
        detail: isLeftover ? `${detail}; the record already has this value, and null removes it` : detail,
      };
    }),
  );
}
