/** `GET /api/v1/search`: records of every kind by a part of their name, label, path or id. */
import { Type } from 'typebox';
import { jsonSchema } from '../../../model/json-schema.ts';
import { NO_NUL_PATTERN } from '../../../model/patterns.ts';
import type { AdminToken } from '../../../model/resources.ts';
import { closed } from '../../../model/schema-pieces.ts';
import { StorageUnavailable } from '../../../storage/storage-errors.ts';
import { Admission } from '../../api/admission.ts';
import { answer } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import type { ManagementContext } from '../../context.ts';
import { PAGE_LIMIT_MAX } from '../../schemas/common.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { SearchSchema } from '../../schemas/overview/found-schema.ts';
import { findRecords } from '../../search/find-records.ts';

const SEARCHES_MAX = 8;
const LIMIT_DEFAULT = 20;

const QUERY = jsonSchema(
  Type.Object(
    {
      q: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          pattern: NO_NUL_PATTERN,
          description:
            'The text to find. Case is ignored, and there are no wildcards. The search covers names, labels, paths (for endpoints also with the method: `GET /invoices`), backend hosts, labels of apps (`team:payments`), the visible beginnings of keys, and ids. Without this parameter, nothing is found.',
        }),
      ),
      limit: Type.Optional(
        Type.Integer({ minimum: 1, maximum: 100, default: LIMIT_DEFAULT, description: 'Most items.' }),
      ),
    },
    closed,
  ),
);

export function searchOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/search`,
    operationId: 'search',
    tag: 'Service',
    summary: 'Find records by a text',
    description: 'Only admins can find admin tokens.',
    access: 'viewer',
    query: QUERY,
    admission: new Admission(SEARCHES_MAX),
    entityTag: false,
    success: {
      status: 200,
      description: 'The best matches',
      schema: jsonSchema(envelopeSchema('SearchEnvelope', SearchSchema)),
    },
    failures: ['overloaded'],
    handle: async ({ query, actor }) => {
      const { q: text, limit = LIMIT_DEFAULT } = query;
      if (text === undefined) return answer(200, 'Nothing to find', { items: [], total: 0, complete: true });
      const tokens = actor.role === 'admin' ? await adminTokens(context) : { list: [], isComplete: true };
      const found = await findRecords(context.served, {
        text: String(text),
        limit: Number(limit),
        adminTokens: tokens.list,
        nowMs: () => context.clock.monotonicMs(),
      });
      const complete = found.complete && tokens.isComplete;
      return answer(200, `${found.total} found`, { ...found, complete });
    },
  };
}

/** The oldest admin tokens; there are few. Empty while the database is unavailable. */
async function adminTokens({
  repository,
}: ManagementContext): Promise<{ readonly list: readonly AdminToken[]; readonly isComplete: boolean }> {
  try {
    const all = { limit: PAGE_LIMIT_MAX, after: undefined };
    const page = await repository.read((reader) => reader.listAdminTokens(all));
    return { list: page.items, isComplete: page.nextAfter === null };
  } catch (error) {
    if (error instanceof StorageUnavailable) return { list: [], isComplete: false };
    throw error;
  }
}
