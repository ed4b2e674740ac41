/** `GET /events`: the gateway's events as a list, or as server-sent events (WHATWG HTML). */
import { Type } from 'typebox';
import { HEARTBEAT, PREAMBLE } from '../../../explain/live/live-events.ts';
import { isAccepted } from '../../../http/fields/accepted.ts';
import { EventSchema, EVENT_TYPES, isTypePattern, typeMeant } from '../../../model/events/events.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { closed, dateTime, oneOf } from '../../../model/schema-pieces.ts';
import type { EventFilter, RemovedEvents } from '../../../storage/event-store.ts';
import type { LastingCall } from '../../access/lasting-call.ts';
import { fail, isFailure, listAnswer, type Answer, type Failure } from '../../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../../api/operation.ts';
import { PAGE_FIELDS, pageInfo, pageRequest, addPeriod, type Query } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { EventStream } from '../explain/event-stream.ts';
import { listSchema } from '../../schemas/envelope.ts';
import {
  gapText,
  NO_EVENT,
  STREAMS_MAX,
  STREAMS_PER_ACTOR_MAX,
  type EventFeed,
  type FeedReader,
  type FeedRefusal,
} from './event-feed.ts';

const EVENT_STREAM = 'text/event-stream';
const TICK_MS = 5_000;
const RETRY_AFTER_SECS = 5;
const TYPES_MAX = 50;
const ID_PATTERN = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const EVENT_QUERY = jsonSchema(
  Type.Object(
    {
      ...PAGE_FIELDS,
      order: Type.Optional(
        oneOf(['oldest_first', 'newest_first'], {
          default: 'newest_first',
          description: 'Order of the list. A cursor is valid only for the order with which it was returned.',
        }),
      ),
      type: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 1_000,
          description: 'A type, a group such as `breaker.*`, or several of them separated by commas.',
        }),
      ),
      app: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Id or slug of an app.' })),
      since: Type.Optional(dateTime('Events from this time on.')),
      until: Type.Optional(dateTime('Events before this time; not for a stream.')),
    },
    closed,
  ),
);

export function eventsOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/events`,
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List or watch events',
    description:
      'What happened to the gateways on this database; the reference of events has all types. An event must match ' +
      'every filter; `page.total` counts matching events up to 10,000. With `Accept: text/event-stream` the answer ' +
      'is a stream of server-sent events from all gateways: `event` with an `Event` as its data, and ' +
      '`gap` if events are missing because they are no longer kept. The stream begins with events that are recorded after the call, with ' +
      '`since` at that time, and with `Last-Event-ID` after that event; any gateway on the database can continue ' +
      'a stream. The stream ends when its credential is revoked or expires.',
    access: 'viewer',
    query: EVENT_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of events; with `Accept: text/event-stream`, events until the client closes',
      schema: jsonSchema(listSchema('EventList', EventSchema)),
    },
    failures: ['overloaded'],
    handle: async (call) => {
      const filter = await filterOf(context, call.query);
      if (isFailure(filter)) return filter;
      return isAccepted(call.headers.accept, EVENT_STREAM)
        ? watch(context, call, filter)
        : list(context.eventFeed, call, filter);
    },
  };
}

async function list({ store }: EventFeed, call: Call, filter: EventFilter): Promise<Answer | Failure> {
  const request = pageRequest(call.query);
  if (isFailure(request)) return request;
  const order = call.query['order'] === 'oldest_first' ? 'oldest_first' : 'newest_first';
  const page = await store.list({ ...request, order }, filter);
  return listAnswer('Events listed', page.items, pageInfo(page, request.limit));
}

async function watch(
  { eventFeed: events, clock }: ManagementContext,
  { lasting, actor, query }: Call,
  filter: EventFilter,
): Promise<Answer | Failure> {
  if (lasting === undefined) return fail('bad_request', 'A stream cannot be part of another call');
  const { lastEventId } = lasting;
  if (lastEventId !== undefined && !ID_PATTERN.test(lastEventId)) {
    return fail('bad_request', 'Last-Event-ID must be the id of an event, as sent by the stream');
  }
  const { oldest, newest } = await events.store.bounds();
  const fromNow = query['since'] === undefined && newest !== '' ? newest : NO_EVENT;
  // The id comes from another database, or from this one before a restore: it would hide all new events.
  const isForeign = lastEventId !== undefined && lastEventId !== NO_EVENT && lastEventId > newest;
  const after = isForeign ? fromNow : (lastEventId ?? fromNow);
  const body = new EventStream(() => clock.monotonicMs());
  // A reader that returns before the first event continues from here.
  body.write(`${PREAMBLE}id: ${after}\n\n`);
  const removed = await events.store.removed(filter);
  const isBehind =
    lastEventId !== undefined && lastEventId !== NO_EVENT && isRemovedAfter(lastEventId, removed, oldest);
  if (isForeign || isBehind) body.write(gapText(oldest));
  const isUnanswered = (): boolean => lasting.isUnanswered();
  const knownRemoved = removed.upTo;
  const caller = { actorId: actor.id, role: actor.role };
  const request = { ...caller, filter: withoutEnd(filter), after, knownRemoved, isUnanswered };
  const reader = events.open(request, body);
  if (typeof reader === 'string') return refused(reader);
  body.onRoom = () => reader.wake();
  follow(lasting, body, reader);
  return {
    status: 200,
    headers: { 'Content-Type': EVENT_STREAM, 'X-Accel-Buffering': 'no' },
    body,
  };
}

/** Whether events that a reader has not received are gone. That its last event is gone does not mean that. */
function isRemovedAfter(id: string, { upTo, isComplete }: RemovedEvents, oldest: string): boolean {
  return id < upTo || (!isComplete && id < oldest);
}

/** Ends the stream when it is no longer allowed, or its client has gone or does not read. */
function follow(lasting: LastingCall, body: EventStream, reader: FeedReader): void {
  let told = reader.reached;
  const tick = async (): Promise<void> => {
    body.endIfStalled();
    if (!(await lasting.stillAllowed())) {
      reader.leave();
      body.end();
      return;
    }
    const { reached } = reader;
    // The reader has also passed events that its filter excludes.
    body.write(reached === told ? HEARTBEAT : `${HEARTBEAT.trimEnd()}\nid: ${reached}\n\n`);
    told = reached;
    reader.wake();
  };
  const onDefect = (error: unknown): void => void body.destroy(error as Error);
  const timer = setInterval(() => void tick().catch(onDefect), TICK_MS).unref();
  lasting.onGone(() => {
    clearInterval(timer);
    reader.leave();
    body.destroy();
  });
}

async function filterOf({ repository }: ManagementContext, query: Query): Promise<EventFilter | Failure> {
  const filter: { -readonly [Name in keyof EventFilter]: EventFilter[Name] } = {};
  if (query['type'] !== undefined) {
    const types = String(query['type']).split(',');
    const unknown = types.find((pattern) => !isTypePattern(pattern));
    if (unknown !== undefined || types.length > TYPES_MAX) {
      const known = [...EVENT_TYPES.keys()].join(', ');
      const what =
        unknown === undefined
          ? `at most ${TYPES_MAX} types`
          : `types of events; there is no type "${unknown}"${typeMeant(unknown)}`;
      const end = what.endsWith('?') ? '' : '.';
      return fail('invalid_query', `The query parameter "type" must name ${what}${end} Types are ${known}`);
    }
    if (!types.includes('*')) filter.types = types;
  }
  if (query['app'] !== undefined) {
    const ref = String(query['app']);
    const found = await repository.read((reader) => reader.findApp(ref));
    // The events of a deleted app are kept.
    const id = found?.id ?? (ID_PATTERN.test(ref) ? ref : undefined);
    if (id === undefined)
      return fail('invalid_query', `The query parameter "app" must name an app; there is no app "${ref}"`);
    filter.app_ids = [id];
  }
  return addPeriod(query, filter) ?? filter;
}

function withoutEnd({ until: _until, ...filter }: EventFilter): EventFilter {
  return filter;
}

/** RFC 9110 section 12.5.1, for the one type that is not the default. */
function refused(refusal: FeedRefusal): Failure {
  const detail =
    refusal === 'actor'
      ? `This caller already has ${STREAMS_PER_ACTOR_MAX} streams of events; close one`
      : `The gateway already has ${STREAMS_MAX} streams of events, or is stopping`;
  return { ...fail('overloaded', detail), headers: { 'Retry-After': String(RETRY_AFTER_SECS) } };
}
