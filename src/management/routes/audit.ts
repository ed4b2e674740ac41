/** The audit log: every write, oldest or newest first, with who made it and what changed. Written by write.ts. */
import { Type } from 'typebox';
import { closed } from '../../model/schemas/common.ts';
import { AuditEntrySchema, listSchema } from '../../model/schemas/envelope.ts';
import { jsonSchema } from '../../model/schemas/json-schema.ts';
import type { ManagementContext } from '../context.ts';
import { isFailure, listAnswer } from '../failure.ts';
import { API_PREFIX, type Operation } from '../operation.ts';
import { PAGE_FIELDS, pageInfo, pageRequest } from '../query.ts';

const AUDIT_QUERY = jsonSchema(
  Type.Object(
    {
      ...PAGE_FIELDS,
      order: Type.Optional(
        Type.Union([Type.Literal('oldest_first'), Type.Literal('newest_first')], {
          default: 'oldest_first',
          description: 'A cursor is for the order that it was given in.',
        }),
      ),
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
      const order = call.query['order'] === 'newest_first' ? 'newest_first' : 'oldest_first';
      const page = await context.repository.read((reader) => reader.listAudit(request, order));
      return listAnswer('Audit entries listed', page.items, pageInfo(page, request.limit));
    },
  };
}
