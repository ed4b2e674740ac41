/**
 * `GET /api/v1/certificates`: every name for which the gateway has a certificate or orders one, without keys; and
 * requests for new certificates. Answered from memory.
 */
import { jsonSchema } from '../../../model/json-schema.ts';
import { answer, fail, isFailure, listAnswer } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { countedPageRequest, NO_QUERY, PAGE_QUERY, pageInfo } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { envelopeSchema, listSchema } from '../../schemas/envelope.ts';
import { CertificateSchema } from '../../schemas/overview/certificate-schema.ts';
import { NOTHING_TOUCHED } from '../../write/write.ts';

const PATH = `${API_PREFIX}/certificates`;

export function certificateOperations(context: ManagementContext): Operation[] {
  return [listCertificates(context), renewCertificate(context)];
}

function listCertificates({ status }: ManagementContext): Operation {
  return {
    method: 'GET',
    path: PATH,
    operationId: 'listCertificates',
    tag: 'Service',
    summary: 'List the names that have a certificate, or for which one is ordered',
    description: 'Ordered by name. Answered by this gateway alone; keys are never shown.',
    access: 'viewer',
    query: PAGE_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of names',
      schema: jsonSchema(listSchema('CertificateList', CertificateSchema)),
    },
    failures: [],
    handle: async ({ query }) => {
      const page = countedPageRequest(query);
      if (isFailure(page)) return page;
      const all = status.ownCertificates.list();
      const start = Number(page.after ?? 0);
      const items = all.slice(start, start + page.limit);
      const end = start + items.length;
      const nextAfter = end < all.length ? String(end) : null;
      return listAnswer(
        'Certificates listed',
        items,
        pageInfo({ items, total: all.length, nextAfter }, page.limit),
      );
    },
  };
}

function renewCertificate(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${PATH}/{name}/renew`,
    operationId: 'renewCertificate',
    tag: 'Service',
    summary: 'Order a new certificate for a name now',
    description:
      'For a name whose certificates are ordered by ACME. The gateway that orders certificates begins within seconds, and the list shows the result. The limit of orders per hour and the pauses that the authority asks for still apply.',
    access: 'editor',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'An order is due',
      schema: jsonSchema(envelopeSchema('CertificateEnvelope', CertificateSchema)),
    },
    failures: ['not_found'],
    handle: async (call) => {
      const { ownCertificates: own } = context.status;
      const name = (call.params['name'] ?? '').toLowerCase();
      const entry = own.list().find((each) => each.name === name && each.source === 'acme');
      if (entry === undefined) return fail('not_found', 'No certificate is ordered by ACME for this name');
      const written = await context.write(call, async (writer) => {
        // Without a row the first order is due anyway.
        const isKnown = await writer.requestCertificate(name);
        const due = answer(200, 'An order is due', { ...entry, order: isKnown ? 'waiting' : entry.order });
        return {
          answer: due,
          touched: NOTHING_TOUCHED,
          audit: {
            action: 'certificate.renew',
            resourceType: 'certificate',
            resourceId: name,
            resourceName: name,
            parents: {},
            change: null,
          },
        };
      });
      own.look();
      return written;
    },
  };
}
