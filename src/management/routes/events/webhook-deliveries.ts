/** The state of webhooks, their test, and events that were given up: listed, sent again, removed. */
import { timestamp } from '../../../lib/clock.ts';
import type { DeadLetter } from '../../../model/events/webhook.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import type { DeliveryState } from '../../../storage/delivery-store.ts';
import { Admission } from '../../api/admission.ts';
import { answer, isFailure, listAnswer, notFound } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { NO_QUERY, PAGE_QUERY, pageInfo, pageRequest } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { itemPath, locate } from '../../crud/locate.ts';
import { envelopeSchema, listSchema } from '../../schemas/envelope.ts';
import {
  DeadLetterCountSchema,
  DeadLetterSchema,
  WebhookDeliverySchema,
  WEBHOOKS_MAX,
  WebhookTestSchema,
} from '../../schemas/events/webhook.ts';
import { NOTHING_TOUCHED } from '../../write/write.ts';
import { webhooks } from './webhooks.ts';

/** Limit of tests under way: each waits for a receiver. */
const TESTS_MAX = 8;

export function deliveryOperations(context: ManagementContext): Operation[] {
  return [
    listDeliveries(context),
    testOperation(context),
    listDeadLetters(context),
    ...(['all', 'one'] as const).flatMap((which) => [
      letterOperation('resend', which, context),
      letterOperation('delete', which, context),
    ]),
  ];
}

function listDeliveries({ webhooks: access }: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/webhook-deliveries`,
    operationId: 'listWebhookDeliveries',
    tag: webhooks.tag,
    summary: 'State of the deliveries of all webhooks',
    description: `Ordered by creation; there are at most ${WEBHOOKS_MAX} webhooks.`,
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'All webhooks',
      schema: jsonSchema(listSchema('WebhookDeliveryList', WebhookDeliverySchema)),
    },
    failures: [],
    handle: async () => {
      const items = (await access.states()).map(presentState);
      const page = { limit: WEBHOOKS_MAX, next_cursor: null, total: items.length };
      return listAnswer('Deliveries listed', items, page);
    },
  };
}

function presentState(state: DeliveryState): object {
  const { webhook, progress, waiting, deadLetters, sender } = state;
  const { failures, last_error, failed_at_ms, delivered_at_ms, next_try_ms, delivered } = progress;
  const time = (ms: number | null): string | null => (ms === null ? null : timestamp(ms));
  return {
    webhook_id: webhook.id,
    name: webhook.name,
    state: webhook.is_active ? (failures > 0 ? 'failing' : 'ok') : 'disabled',
    sender,
    waiting,
    delivered,
    dead_letters: deadLetters,
    failures,
    last_error,
    last_failed_at: time(failed_at_ms),
    last_delivered_at: time(delivered_at_ms),
    next_try_at: failures > 0 && next_try_ms > 0 ? timestamp(next_try_ms) : null,
  };
}

function testOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${itemPath(webhooks)}/test`,
    operationId: 'testWebhook',
    tag: webhooks.tag,
    summary: 'Send a test event to a webhook now',
    description:
      'The event is signed and sent like any other, independently of waiting events, even if the webhook is not active. The result contains the answer of the receiver; a failed test is not repeated.',
    access: 'admin',
    query: NO_QUERY,
    admission: new Admission(TESTS_MAX),
    entityTag: false,
    success: {
      status: 200,
      description: 'The result',
      schema: jsonSchema(envelopeSchema('WebhookTestEnvelope', WebhookTestSchema)),
    },
    failures: ['not_found'],
    handle: async (call) => {
      const located = await context.repository.read((reader) => locate(webhooks, reader, call.params));
      if (isFailure(located)) return located;
      const { event, outcome } = await context.webhooks.test(located.record);
      return answer(200, 'Test sent', {
        event_id: event.id,
        is_delivered: outcome.result === 'delivered',
        status: outcome.status,
        latency_ms: outcome.latencyMs,
        error: outcome.error === '' ? null : outcome.error,
      });
    },
  };
}

const LETTERS = `${itemPath(webhooks)}/dead-letters`;

function listDeadLetters(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: LETTERS,
    operationId: 'listDeadLetters',
    tag: webhooks.tag,
    summary: 'List the events that a webhook did not receive',
    description: 'Dead letters are listed in the order of their events.',
    access: 'viewer',
    query: PAGE_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of dead letters',
      schema: jsonSchema(listSchema('DeadLetterList', DeadLetterSchema)),
    },
    failures: ['not_found'],
    handle: async (call) => {
      const request = pageRequest(call.query);
      if (isFailure(request)) return request;
      return context.repository.read(async (reader) => {
        const located = await locate(webhooks, reader, call.params);
        if (isFailure(located)) return located;
        const page = await reader.listDeadLetters(located.record.id, request);
        const items = page.items.map(presentLetter);
        return listAnswer('Dead letters listed', items, pageInfo(page, request.limit));
      });
    },
  };
}

function presentLetter({ event, tries, error, failed_at, is_wanted }: DeadLetter): object {
  return { event, tries, error, failed_at, is_resent: is_wanted };
}

function letterOperation(
  verb: 'resend' | 'delete',
  which: 'one' | 'all',
  context: ManagementContext,
): Operation {
  const resends = verb === 'resend';
  const place = which === 'one' ? `${LETTERS}/{event_id}` : resends ? itemPath(webhooks) : LETTERS;
  const noun = which === 'one' ? 'an event' : 'all events';
  return {
    method: resends ? 'POST' : 'DELETE',
    path: resends ? `${place}/resend` : place,
    operationId: `${verb}DeadLetter${which === 'one' ? '' : 's'}`,
    tag: webhooks.tag,
    summary: resends
      ? `Send ${noun} again that a webhook did not receive`
      : `Delete ${noun} that a webhook did not receive`,
    ...(resends && {
      description:
        'The events keep their ids and are sent in their order, before waiting events. An event that the receiver refuses again stays a dead letter.',
    }),
    access: 'admin',
    query: NO_QUERY,
    entityTag: false,
    isWrite: true,
    success: {
      status: 200,
      description: 'The number of events',
      schema: jsonSchema(envelopeSchema('DeadLetterCountEnvelope', DeadLetterCountSchema)),
    },
    failures: ['not_found'],
    handle: (call) =>
      context.write(call, async (writer) => {
        const located = await locate(webhooks, writer, call.params);
        if (isFailure(located)) return located;
        const { id, name } = located.record;
        const eventId = which === 'one' ? (call.params['event_id'] ?? '') : undefined;
        const count = resends
          ? await writer.wantDeadLetters(id, eventId)
          : await writer.deleteDeadLetters(id, eventId);
        if (eventId !== undefined && count === 0) return notFound('dead letter', eventId);
        const message = resends ? 'Dead letters are sent again' : 'Dead letters deleted';
        const reply = answer(200, message, { dead_letters: count });
        return {
          answer: reply,
          touched: NOTHING_TOUCHED,
          audit: {
            action: `webhook.${resends ? 'resend' : 'forget'}`,
            resourceType: 'webhook',
            resourceId: id,
            resourceName: name,
            parents: {},
            change: { dead_letters: count, ...(eventId !== undefined && { event_id: eventId }) },
          },
        };
      }),
  };
}
