/**
 * `GET /live`: the exchanges of this gateway as they end, as server-sent events (WHATWG HTML); `GET /live/{id}`: the
 * explanation of one of them.
 */
import { Type } from 'typebox';
import { ExplanationSchema } from '../../../explain/schema.ts';
import { HEARTBEAT, PREAMBLE, statusEvent } from '../../../explain/live/live-events.ts';
import { statusRanges, type LiveFilter } from '../../../explain/live/live-filter.ts';
import {
  LIVE_STREAMS_MAX,
  LIVE_STREAMS_PER_ACTOR_MAX,
  type LiveRefusal,
  type LiveStream,
} from '../../../explain/live/live-hub.ts';
import { LiveExchangeSchema, LiveStatusSchema, type LiveStatus } from '../../../explain/live/live-schema.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { METHOD_PATTERN, STATUS_FILTER_PATTERN } from '../../../model/patterns.ts';
import { closed, oneOf } from '../../../model/schema-pieces.ts';
import { ERRORS } from '../../../policy/error-table.ts';
import type { LastingCall } from '../../access/lasting-call.ts';
import { fail, isFailure, type Answer, type Failure } from '../../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../../api/operation.ts';
import { NO_QUERY, type Query } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { EventStream } from './event-stream.ts';
import { explained } from './explain.ts';

const EVENT_STREAM = 'text/event-stream';
const PER_SECOND_DEFAULT = 20;
const PER_SECOND_MAX = 200;
const TICK_MS = 5_000;
const RETRY_AFTER_SECS = 5;

const QuerySchema = Type.Object(
  {
    app: Type.Optional(Type.String({ maxLength: 64, description: 'Id or slug of an app.' })),
    status: Type.Optional(
      Type.String({
        pattern: STATUS_FILTER_PATTERN,
        maxLength: 60,
        description: '`2xx`, `404`, `>=500`, or several of them separated by commas.',
      }),
    ),
    key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'Id or name of the caller: of a key, or a subject.',
      }),
    ),
    path: Type.Optional(
      Type.String({
        pattern: '^/',
        maxLength: 1_024,
        description: 'Start of the canonical path. It is compared as plain text, not as a pattern.',
      }),
    ),
    method: Type.Optional(Type.String({ pattern: METHOD_PATTERN })),
    reason: Type.Optional(oneOf(Object.keys(ERRORS), { description: 'Code of a denial or failure.' })),
    per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PER_SECOND_MAX,
        default: PER_SECOND_DEFAULT,
        description: 'Maximum number of exchanges to show per second, on average.',
      }),
    ),
  },
  closed,
);

export function liveOperations(context: ManagementContext): Operation[] {
  return [watchTraffic(context), explainLive(context)];
}

function watchTraffic(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/live`,
    operationId: 'watchTraffic',
    tag: 'Explain',
    summary: 'Watch exchanges as they end',
    description:
      'Server-sent events of this gateway, but not of others with the same database: `exchange` with a `LiveExchange` as ' +
      'its data, `status` with a `LiveStatus` every few seconds. An exchange must match all filters. If there are more exchanges than ' +
      '`per_second`, a sample spread evenly over time is shown. A reader that reconnects with `Last-Event-ID` within 15 seconds ' +
      'gets up to 200 events that it has missed. The stream ends when its credential is revoked or expires.',
    access: 'viewer',
    query: jsonSchema(QuerySchema),
    entityTag: false,
    success: {
      status: 200,
      description: 'Events until the client closes the connection; the schema is that of their data',
      contentType: EVENT_STREAM,
      schema: jsonSchema(Type.Union([LiveExchangeSchema, LiveStatusSchema], { title: 'LiveEvent' })),
    },
    failures: ['overloaded'],
    handle: (call) => watch(context, call),
  };
}

function explainLive(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/live/{live_id}`,
    operationId: 'explainLiveExchange',
    tag: 'Explain',
    summary: 'Explain an exchange of a stream',
    description:
      'The same answer as `GET /api/v1/explain/{request_id}`, but for the `id` of an event, because clients can choose request ids themselves. ' +
      'Each worker keeps the last 1,000 exchanges that it showed.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'What happened to the request, and why',
      schema: jsonSchema(envelopeSchema('ExplanationEnvelope', ExplanationSchema)),
    },
    failures: [],
    handle: async ({ params }) => {
      const liveId = params['live_id'] ?? '';
      const explanation = await context.explain.recorded({ liveId });
      if (explanation !== undefined) return explained(context, explanation);
      const why =
        'no stream of this gateway has shown it, later ones have replaced it, or its worker has ended';
      return fail('not_found', `No exchange "${liveId}" is kept: ${why}`);
    },
  };
}

async function watch(context: ManagementContext, call: Call): Promise<Answer | Failure> {
  const { live, clock } = context;
  const { lasting, query } = call;
  if (lasting === undefined) return fail('bad_request', 'A stream cannot be part of another call');
  const filter = await filterOf(context, query);
  if (isFailure(filter)) return filter;
  const perSecond = Number(query['per_second'] ?? PER_SECOND_DEFAULT);
  const events = new EventStream(() => clock.monotonicMs());
  const { lastEventId } = lasting;
  events.write(PREAMBLE);
  const isUnanswered = (): boolean => lasting.isUnanswered();
  const { id: actorId, role } = call.actor;
  const stream = live.open({ actorId, role, filter, perSecond, lastEventId, isUnanswered }, events);
  if (typeof stream === 'string') return refused(stream);
  follow(context, lasting, { events, stream, perSecond });
  return {
    status: 200,
    headers: { 'Content-Type': EVENT_STREAM, 'X-Accel-Buffering': 'no' },
    body: events,
  };
}

interface Following {
  readonly events: EventStream;
  readonly stream: LiveStream;
  readonly perSecond: number;
}

/**
 * Writes the stream's state now and then, and ends the stream when it is no longer allowed or its client has
 * gone.
 */
function follow(
  context: ManagementContext,
  lasting: LastingCall,
  { events, stream, perSecond }: Following,
): void {
  const { clock } = context;
  let last = { atMs: clock.monotonicMs(), seen: stream.counts.seen, shown: stream.counts.shown };
  const tell = async (): Promise<void> => {
    const nodes = await nodesOf(context);
    const atMs = clock.monotonicMs();
    const { seen, shown, dropped, lost } = stream.counts;
    const seconds = (atMs - last.atMs) / 1000;
    const rate = (count: number): number => (seconds < 0.5 ? 0 : Math.round((count / seconds) * 10) / 10);
    const status: LiveStatus = {
      ...nodes,
      per_second: perSecond,
      resumed: stream.isResumed,
      seconds: Math.round(seconds * 1000) / 1000,
      seen_per_second: rate(seen - last.seen),
      shown_per_second: rate(shown - last.shown),
      seen,
      shown,
      dropped,
      lost,
    };
    last = { atMs, seen, shown };
    events.write(HEARTBEAT + statusEvent(status));
  };
  const tick = async (): Promise<void> => {
    events.endIfStalled();
    if (await lasting.stillAllowed()) return tell();
    stream.leave(false);
    events.end();
    return undefined;
  };
  const onDefect = (error: unknown): void => void events.destroy(error as Error);
  const timer = setInterval(() => void tick().catch(onDefect), TICK_MS).unref();
  lasting.onGone(() => {
    clearInterval(timer);
    stream.leave(true);
    events.destroy();
  });
  void tell().catch(onDefect);
}

async function filterOf({ repository }: ManagementContext, query: Query): Promise<LiveFilter | Failure> {
  const { app, status, key, path, method, reason } = query as Readonly<Record<string, string | undefined>>;
  const found = app === undefined ? undefined : await repository.read((reader) => reader.findApp(app));
  if (app !== undefined && found === undefined)
    return fail('invalid_query', `The query parameter "app" must name an app; there is no app "${app}"`);
  return {
    appId: found?.id,
    status: status === undefined ? undefined : statusRanges(status),
    key,
    path,
    method,
    reason,
  };
}

function refused(refusal: LiveRefusal): Failure {
  const detail =
    refusal === 'actor'
      ? `This caller already has ${LIVE_STREAMS_PER_ACTOR_MAX} streams of live traffic; close one`
      : `The gateway already has ${LIVE_STREAMS_MAX} streams of live traffic, or is stopping`;
  return { ...fail('overloaded', detail), headers: { 'Retry-After': String(RETRY_AFTER_SECS) } };
}

/** An unavailable database does not end a stream. */
async function nodesOf({ nodes }: ManagementContext): Promise<Pick<LiveStatus, 'node' | 'other_nodes'>> {
  const { selfId } = nodes;
  try {
    const listed = (await nodes.list()).map(({ id, name }) => ({ id, name }));
    const self = listed.find(({ id }) => id === selfId) ?? { id: selfId, name: '' };
    return { node: self, other_nodes: listed.filter(({ id }) => id !== selfId) };
  } catch {
    return { node: { id: selfId, name: '' }, other_nodes: null };
  }
}
