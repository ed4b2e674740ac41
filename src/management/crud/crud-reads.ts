/** The reading operations of a resource: a page of its collection, and one record. */
import { listSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import type { ManagementContext } from '../context.ts';
import { checkRole, type Actor } from '../access/admin-auth.ts';
import { entityTag, isNotModified } from '../api/entity-tag.ts';
import { answer, emptyAnswer, isFailure, listAnswer } from '../api/failure.ts';
import { itemPath, locate, oneOf, recordEnvelope } from './locate.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import type { PageRequest } from '../../storage/repository.ts';
import { listFilter, listOrder, listQuery } from './list-query.ts';
import { NO_QUERY, pageInfo, pageRequest } from '../api/query.ts';
import type { Resource, StoredRecord } from './resource.ts';

export function listOperation<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  context: ManagementContext,
): Operation {
  const plural = resource.names[1];
  const operationName = resource.operationNames[0];
  return {
    method: 'GET',
    path: API_PREFIX + resource.collection,
    operationId: `list${resource.operationNames[1]}`,
    tag: resource.tag,
    summary: `List ${plural.toLowerCase()}`,
    access: resource.access.read,
    query: listQuery(resource.filteredAs),
    entityTag: false,
    success: {
      status: 200,
      description: `A page of ${plural.toLowerCase()}, oldest first unless \`order\` is \`newest_first\``,
      schema: jsonSchema(listSchema(`${operationName}List`, resource.schema)),
    },
    failures: resource.filteredAs === undefined ? [] : ['overloaded'],
    handle: async (call) => {
      const page = pageRequest(call.query);
      if (isFailure(page)) return page;
      const filter = listFilter(call.query, context.clock.nowMs());
      if (filter !== undefined && isFailure(filter)) return filter;
      const request: PageRequest = { ...page, order: listOrder(call.query), ...(filter && { filter }) };
      const read = () =>
        context.repository.read(async (reader) => {
          const scope = await resource.scope(reader, call.params);
          if (isFailure(scope)) return scope;
          const found = await resource.list(reader, scope, request);
          const items = found.items.map((record) => presentTo(call.actor, resource, record));
          return listAnswer(`${plural} listed`, items, pageInfo(found, request.limit));
        });
      return filter === undefined ? read() : context.filteredReads.run(read);
    },
  };
}

export function getOperation<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  context: ManagementContext,
): Operation {
  const [name] = resource.names;
  return {
    method: 'GET',
    path: itemPath(resource),
    operationId: `get${resource.operationNames[0]}`,
    tag: resource.tag,
    summary: `Fetch ${oneOf(resource)}`,
    access: resource.access.read,
    query: NO_QUERY,
    entityTag: true,
    success: {
      status: 200,
      description: `The ${name.toLowerCase()}`,
      schema: recordEnvelope(resource),
    },
    failures: [],
    handle: async (call) => {
      const located = await context.repository.read((reader) => locate(resource, reader, call.params));
      if (isFailure(located)) return located;
      const served = presentTo(call.actor, resource, located.record);
      const tag = entityTag(served);
      if (isNotModified(call.ifNoneMatch, tag)) return emptyAnswer(304, { ETag: tag });
      return answer(200, `${name} found`, served, { ETag: tag });
    },
  };
}

/** The entity tag of a record for roles that may write it; undefined when there is no such record. */
export async function writableTag<S extends object, I, R extends StoredRecord>(
  resource: Resource<S, I, R>,
  { repository }: Pick<ManagementContext, 'repository'>,
  params: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const located = await repository.read((reader) => locate(resource, reader, params));
  return isFailure(located) ? undefined : entityTag(resource.present(located.record));
}

function presentTo<S extends object, I, R extends StoredRecord>(
  actor: Actor,
  resource: Resource<S, I, R>,
  record: R,
): Readonly<Record<string, unknown>> {
  const mayWrite = checkRole(actor, resource.access.write) === undefined;
  return (mayWrite ? undefined : resource.presentMasked?.(record)) ?? resource.present(record);
}
