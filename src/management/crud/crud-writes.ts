/** Creation and deletion of a resource. All checks of a write run inside its transaction. */
import { timestamp } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import { checkRole } from '../access/admin-auth.ts';
import { parentNames } from '../write/audit-names.ts';
import type { ManagementContext } from '../context.ts';
import { checkIfMatch, entityTag } from '../api/entity-tag.ts';
import { answer, emptyAnswer, fail, isFailure, type Failure } from '../api/failure.ts';
import { itemPath, locate, oneOf, readOnlyNames, rulesOf, withoutBase } from './locate.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { CASCADE_QUERY, DRY_RUN_CASCADE_QUERY, DRY_RUN_QUERY, NO_QUERY } from '../api/query.ts';
import type { Resource, StoredRecord } from './resource.ts';
import type { Written } from '../write/write.ts';

export function createOperation<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  context: ManagementContext,
): Operation {
  const [name] = resource.names;
  const operationName = resource.operationNames[0];
  const schema = resource.createdSchema ?? resource.schema;
  return {
    method: 'POST',
    path: API_PREFIX + resource.collection,
    operationId: `create${operationName}`,
    tag: resource.tag,
    summary: `Create ${oneOf(resource)}`,
    access: resource.access.write,
    query: resource.dryRun ? DRY_RUN_QUERY : NO_QUERY,
    body: {
      schema: resource.creationSchema ?? resource.inputSchema,
      required: true,
      mergePatch: false,
      readOnly: readOnlyNames(resource, resource.creationSchema ?? resource.inputSchema),
      example: resource.example.input,
    },
    entityTag: false,
    isWrite: true,
    success: {
      status: 201,
      description: `The created ${name.toLowerCase()}`,
      schema: jsonSchema(envelopeSchema(`${schema.title ?? operationName}Envelope`, schema)),
    },
    failures: ['conflict'],
    handle: async (call) => {
      const forbidden = fieldsForbidden(resource, call);
      if (forbidden !== undefined) return forbidden;
      return context.change(call, async (writer): Promise<Written | Failure> => {
        const scope = await resource.scope(writer, call.params);
        if (isFailure(scope)) return scope;
        const nowMs = context.clock.nowMs();
        const now = timestamp(nowMs);
        const base = { id: uuidv7(nowMs), created_at: now, updated_at: now };
        const rules = rulesOf(context, writer);
        const built = await resource.build(call.body as I, base, undefined, scope, rules);
        if (isFailure(built)) return built;
        const { record } = built;
        await resource.insert(writer, record);
        const body = call.body as Readonly<Record<string, unknown>>;
        const refused = await resource.complete?.(writer, scope, body, record, rules);
        if (refused !== undefined) return refused;
        const served = resource.present(record);
        const location = itemLocation(resource, call.params, record.id);
        const headers = { Location: location, ETag: entityTag(served) };
        return {
          answer: answer(201, `${name} created`, { ...served, ...built.shownOnce }, headers),
          touched: resource.touched(scope, record),
          warnings: () => resource.warnings?.(rules, scope, record, undefined, body),
          audit: {
            action: `${resource.type}.create`,
            resourceType: resource.type,
            resourceId: record.id,
            resourceName: resource.nameOf(record),
            parents: parentNames(scope),
            change: withoutBase(resource.presentMasked?.(record) ?? served),
          },
        };
      });
    },
  };
}

/** 403 for a field that the caller's role may not set. */
function fieldsForbidden(
  { adminFields = [] }: { readonly adminFields?: readonly string[] },
  { actor, body }: Call,
): Failure | undefined {
  const given = adminFields.find((name) => Object.hasOwn(body as object, name));
  return given === undefined ? undefined : checkRole(actor, 'admin', `The field "${given}"`);
}

export function deleteOperation<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  context: ManagementContext,
): Operation {
  const [name] = resource.names;
  const { children } = resource;
  return {
    method: 'DELETE',
    path: itemPath(resource),
    operationId: `delete${resource.operationNames[0]}`,
    tag: resource.tag,
    summary: `Delete ${oneOf(resource)}`,
    ...(children && {
      description: 'Refused with 409 while the resource has others below it, unless `cascade=true` is given.',
    }),
    access: resource.access.write,
    query: deletionQuery(resource.dryRun, children !== undefined),
    entityTag: true,
    isWrite: true,
    success: { status: 204, description: 'Deleted' },
    failures: [
      ...(children ? (['has_children'] as const) : []),
      ...(resource.keep ? (['conflict'] as const) : []),
    ],
    handle: (call) =>
      context.change(call, async (writer): Promise<Written | Failure> => {
        const located = await locate(resource, writer, call.params);
        if (isFailure(located)) return located;
        const { scope, record } = located;
        const stale = checkIfMatch(call.ifMatch, entityTag(resource.present(record)));
        if (stale !== undefined) return stale;
        const cascade = call.query['cascade'] === true;
        const below = cascade || children === undefined ? [] : await children(writer, record);
        if (below.length > 0) {
          const detail = `The ${name.toLowerCase()} still has ${below.join(' and ')}; delete them first or pass cascade=true`;
          return fail('has_children', detail);
        }
        const kept = await resource.keep?.(rulesOf(context, writer), record);
        if (kept !== undefined) return kept;
        const touched =
          (await resource.touchedByRemoval?.(writer, scope, record)) ?? resource.touched(scope, record);
        const removedWith = cascade ? await resource.removedWith?.(writer, record) : undefined;
        await resource.remove(writer, record);
        return {
          answer: emptyAnswer(204),
          touched,
          warnings: () => resource.removalWarnings?.(rulesOf(context, writer), scope, record),
          audit: {
            action: `${resource.type}.delete`,
            resourceType: resource.type,
            resourceId: record.id,
            resourceName: resource.nameOf(record),
            parents: parentNames(scope),
            change: cascade ? { cascade, ...removedWith } : null,
          },
        };
      }),
  };
}

function deletionQuery(dryRun: boolean, cascade: boolean): JsonSchema {
  if (dryRun) return cascade ? DRY_RUN_CASCADE_QUERY : DRY_RUN_QUERY;
  return cascade ? CASCADE_QUERY : NO_QUERY;
}

function itemLocation(resource: { readonly collection: string }, params: Call['params'], id: string): string {
  const collection = resource.collection.replaceAll(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  return `${API_PREFIX}${collection}/${id}`;
}
