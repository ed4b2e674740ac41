/**
 * The audit log: every write and every refused login, oldest or newest first, with who made it, from where, and what
 * changed. Written by write.ts and refused-logins.ts.
 */
import { Type } from 'typebox';
import { closed, dateTime, oneOf } from '../../model/schema-pieces.ts';
import { AuditEntrySchema, listSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import type { AuditFilter } from '../../storage/repository.ts';
import type { ManagementContext } from '../context.ts';
import { isFailure, listAnswer, type Failure } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { PAGE_FIELDS, pageInfo, pageRequest, addPeriod, type Query } from '../api/query.ts';

const equals = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 512, description }));

const FIELDS = {
  actor: equals('Id of an admin token, `environment`, `anonymous` or `system`.'),
  action: equals('For example `app.delete` or `login.refused`.'),
  resource_type: equals('For example `app`.'),
  resource_id: equals('Id of the changed record, also after it was deleted.'),
  resource_name: equals('Name of the record at that time: slug, label, method and path (`GET /x`), or name.'),
};

const AUDIT_QUERY = jsonSchema(
  Type.Object(
    {
      ...PAGE_FIELDS,
      order: Type.Optional(
        oneOf(['oldest_first', 'newest_first'], {
          default: 'oldest_first',
          description: 'A cursor is valid only for the order with which it was returned.',
        }),
      ),
      ...FIELDS,
      since: Type.Optional(dateTime('Entries from this time on.')),
      until: Type.Optional(dateTime('Entries before this time.')),
    },
    closed,
  ),
);

export function auditOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/audit`,
    operationId: 'listAuditEntries',
    tag: 'Admin',
    summary: 'List audit entries',
    description: 'An entry must match every filter; `page.total` counts the matching entries.',
    access: 'admin',
    query: AUDIT_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of audit entries',
      schema: jsonSchema(listSchema('AuditEntryList', AuditEntrySchema)),
    },
    failures: [],
    handle: async (call) => {
      const request = pageRequest(call.query);
      if (isFailure(request)) return request;
      const filter = filterOf(call.query);
      if (isFailure(filter)) return filter;
      const order = call.query['order'] === 'newest_first' ? 'newest_first' : 'oldest_first';
      const page = await context.repository.read((reader) => reader.listAudit(request, order, filter));
      return listAnswer('Audit entries listed', page.items, pageInfo(page, request.limit));
    },
  };
}

function filterOf(query: Query): AuditFilter | Failure {
  const filter: Record<string, string> = {};
  for (const name of Object.keys(FIELDS)) {
    if (query[name] !== undefined) filter[name] = String(query[name]);
  }
  return addPeriod(query, filter) ?? filter;
}
