/** The audit log: every write, oldest first, with who made it and what changed. Written by write.ts. */
import { AuditEntrySchema, listSchema } from '../../model/schemas/envelope.ts';
import { jsonSchema } from '../../model/schemas/json-schema.ts';
import type { ManagementContext } from '../context.ts';
import { isFailure, listAnswer } from '../failure.ts';
import { API_PREFIX, type Operation } from '../operation.ts';
import { pageInfo, PAGE_QUERY, pageRequest } from '../query.ts';

export function auditOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/audit`,
    operationId: 'listAuditEntries',
    tag: 'Admin',
    summary: 'List audit entries',
    access: 'admin',
    query: PAGE_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of audit entries, oldest first',
      schema: jsonSchema(listSchema('AuditEntryList', AuditEntrySchema)),
    },
    failures: [],
    handle: async (call) => {
      const request = pageRequest(call.query);
      if (isFailure(request)) return request;
      const page = await context.repository.read((reader) => reader.listAudit(request));
      return listAnswer('Audit entries listed', page.items, pageInfo(page, request.limit));
    },
  };
}
