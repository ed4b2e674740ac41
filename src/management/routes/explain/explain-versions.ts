/**
 * `POST /config/explain`: the decision for a request at other config versions, without serving them. The request is
 * described, or is that of a recorded exchange, whose caller counts as authenticated. Everything runs in the thread
 * for trials.
 */
import { Type, type Static } from 'typebox';
import type { ExplainOn, TriedRequest } from '../../../explain/explain-access.ts';
import { ExplainInputSchema, ExplanationSchema, type Explanation } from '../../../explain/schema.ts';
import type { HistoryEntry } from '../../../model/history/config-history.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { closed, dateTime, nullable } from '../../../model/schema-pieces.ts';
import type { ConfigReader, Page } from '../../../storage/repository.ts';
import { answer, fail, invalid, isFailure, type Answer, type Failure } from '../../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import { configAt } from '../../bisect/config-at.ts';
import { findSegments } from '../../bisect/segments.ts';
import { configVersion, searched, viewerSearches } from '../../bisect/version-search.ts';
import { answerKey, outcomeOn } from '../../bisect/version-outcome.ts';
import type { ManagementContext } from '../../context.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { descriptionErrors, masked } from './explain.ts';
import { counted } from '../../../lib/text/counted.ts';

/** Limits of the number of versions that are tried, and of the time, which the last version may exceed. */
const ASKS_MAX = 100;
const ASK_MS_MAX = 15_000;
/**
 * Every version of a range up to this length is considered; of longer ranges, only the versions that touched the
 * apps.
 */
const WHOLE_RANGE_MAX = 60;
const CANDIDATES_MAX = 1_000;
const PAGE_ITEMS = 200;

const text = Type.String();

const BodySchema = Type.Object(
  {
    request: Type.Optional(ExplainInputSchema),
    request_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'Request id of a recorded exchange.' }),
    ),
    live_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Id of an event of live traffic.' }),
    ),
    version: Type.Optional(configVersion('Explain only this version, with the whole explanation.')),
    from: Type.Optional(configVersion('First version of the range. Default: the oldest that is kept.')),
    to: Type.Optional(configVersion('Last version of the range. Default: the version in force.')),
  },
  {
    ...closed,
    title: 'ExplainVersions',
    description: 'Exactly one of `request`, `request_id` and `live_id`; `version` or a range.',
  },
);

const OutcomeSchema = Type.Object(
  {
    outcome: text,
    status: nullable(Type.Integer({ description: 'null when the backend decides the status.' })),
    code: nullable(text),
    stage: nullable(Type.String({ description: 'The stage that decided.' })),
    detail: nullable(text),
    backend: nullable(
      Type.String({
        description: 'URL of the backend, one of possibly several; null when the gateway answers.',
      }),
    ),
    app: nullable(Type.String({ description: 'Slug.' })),
    guessed: Type.Boolean({
      description: 'The request needs a credential that the record does not contain.',
    }),
  },
  { ...closed, title: 'OutcomeAtVersion' },
);

const who = {
  at: nullable(dateTime('When the version was created; null: it is not in the history.')),
  actor: nullable(text),
  source: nullable(text),
  action: nullable(text),
  message: nullable(text),
};

const ResultSchema = Type.Object(
  {
    config_version: Type.Integer({ description: 'The config version that is in force.' }),
    kept_from: Type.Integer({ description: 'The oldest version that can be tried.' }),
    now: OutcomeSchema,
    version: nullable(
      Type.Object(
        {
          config_version: Type.Integer(),
          outcome: OutcomeSchema,
          same_as_now: Type.Boolean(),
          ...who,
          explanation: ExplanationSchema,
        },
        { ...closed, description: 'Present with `version` in the body.' },
      ),
    ),
    segments: Type.Array(
      Type.Object(
        {
          from_version: Type.Integer(),
          to_version: Type.Integer({ description: 'Inclusive.' }),
          outcome: OutcomeSchema,
          same_as_now: Type.Boolean(),
          exact: Type.Boolean({ description: 'false: the segment may begin earlier.' }),
          ...who,
        },
        {
          ...closed,
          title: 'VersionSegment',
          description: 'Versions with the same answer, and who created the first of them.',
        },
      ),
      { description: 'The versions in order, without a gap. Empty with `version` in the body.' },
    ),
    tried: Type.Integer({ description: 'Number of versions that were tried.' }),
    complete: Type.Boolean({
      description:
        'false: some versions that might give another answer were not tried, because the time was used up.',
    }),
  },
  { ...closed, title: 'ExplainVersionsResult' },
);

type Body = Static<typeof BodySchema>;

export function explainVersionsOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/config/explain`,
    operationId: 'explainVersions',
    tag: 'Explain',
    summary: 'Explain a request at other config versions',
    description:
      'Runs the request at stored versions, and changes nothing. For a range, it finds the segments with the same answer: it ' +
      'tries at most 100 versions, for about 15 seconds. In a range of more than 60 versions, it only tries those that changed the app.',
    access: 'viewer',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(BodySchema),
      required: true,
      mergePatch: false,
      example: { request: { method: 'GET', url: '/billing/v1/invoices' } },
    },
    viewerAdmission: viewerSearches,
    entityTag: false,
    success: {
      status: 200,
      description: 'The segments, or the one version',
      schema: jsonSchema(envelopeSchema('ExplainVersionsEnvelope', ResultSchema)),
    },
    failures: ['overloaded', 'not_found'],
    handle: (call) => explainVersions(context, call),
  };
}

interface Range {
  readonly head: number;
  readonly keptFrom: number;
  readonly from: number;
  readonly to: number;
}

interface Tried {
  readonly explanation: Explanation;
  readonly isGuessed: boolean;
}

async function explainVersions(context: ManagementContext, call: Call): Promise<Answer | Failure> {
  const body = call.body as Body;
  const request = await requestOf(context, body);
  if (isFailure(request)) return request;
  const range = await context.repository.read((reader) => rangeOf(reader, body));
  if (isFailure(range)) return range;
  return searched(context, (explain) => compare(context, { body, request: request.tried, range }, explain));
}

async function requestOf(
  { explain }: ManagementContext,
  { request, request_id: requestId, live_id: liveId }: Body,
): Promise<{ readonly tried: TriedRequest } | Failure> {
  const given = [request, requestId, liveId].filter((each) => each !== undefined).length;
  if (given !== 1)
    return invalid([{ pointer: '', detail: 'must have exactly one of request, request_id and live_id' }]);
  if (request !== undefined) {
    const errors = descriptionErrors(request, '/request');
    return errors.length > 0 ? invalid(errors) : { tried: request };
  }
  const name = liveId === undefined ? { requestId: requestId ?? '' } : { liveId };
  const recorded = await explain.recordedRequest(name);
  if (recorded === undefined) return fail('not_found', 'No such exchange is kept any more');
  if (recorded.request !== undefined) return { tried: { recorded: recorded.request } };
  const pointer = liveId === undefined ? '/request_id' : '/live_id';
  return invalid([
    { pointer, detail: 'names a request that could not be read, or that was too long to be kept' },
  ]);
}

async function rangeOf(reader: ConfigReader, body: Body): Promise<Range | Failure> {
  const head = await reader.configVersion();
  const keptFrom = await reader.historyFrom();
  const { version, from = version ?? keptFrom, to = version ?? head } = body;
  const detail = `is not kept: the history goes from ${keptFrom} to ${head}`;
  const errors = (['version', 'from', 'to'] as const)
    .filter((name) => (body[name] ?? head) < keptFrom || (body[name] ?? head) > head)
    .map((name) => ({ pointer: `/${name}`, detail: `${String(body[name])} ${detail}` }));
  if (version !== undefined && (body.from ?? body.to) !== undefined)
    errors.push({ pointer: '/version', detail: 'cannot be given together with a range' });
  if (errors.length === 0 && from > to) errors.push({ pointer: '/from', detail: `must not be after ${to}` });
  return errors.length > 0 ? invalid(errors) : { head, keptFrom, from, to };
}

interface Comparison {
  readonly body: Body;
  readonly request: TriedRequest;
  readonly range: Range;
}

async function compare(
  context: ManagementContext,
  { body, request, range }: Comparison,
  explainOn: ExplainOn,
): Promise<Answer> {
  const { clock } = context;
  const untilMs = clock.monotonicMs() + ASK_MS_MAX;
  const known = new Map<number, Tried>();
  const ask = async (version: number): Promise<Tried> => {
    const found = known.get(version) ?? (await explainOn(await configAt(context, version), request));
    known.set(version, found);
    return found;
  };
  const now = await ask(range.head);
  const asking: Asking = {
    ask,
    now,
    mayAsk: () => known.size < ASKS_MAX && clock.monotonicMs() < untilMs,
  };
  const found =
    body.version === undefined
      ? await segmentsOf(context, range, asking)
      : await oneVersion(context, body.version, asking);
  const { message, ...data } = found;
  const whole = { config_version: range.head, kept_from: range.keptFrom, now: outcomeOf(now) };
  return answer(200, message, { ...whole, ...data, tried: known.size });
}

interface Asking {
  readonly now: Tried;
  readonly ask: (version: number) => Promise<Tried>;
  readonly mayAsk: () => boolean;
}

const keyOf = ({ explanation, isGuessed }: Tried): string => `${answerKey(explanation)}${isGuessed}`;

async function oneVersion({ repository }: ManagementContext, asked: number, { now, ask }: Asking) {
  const tried = await ask(asked);
  const entry = await repository.read((reader) => reader.findHistory(asked));
  const version = {
    config_version: asked,
    outcome: outcomeOf(tried),
    same_as_now: keyOf(tried) === keyOf(now),
    ...entryOf(entry),
    explanation: masked(tried.explanation),
  };
  return { message: `Explained at config version ${asked}`, version, segments: [], complete: true };
}

async function segmentsOf(context: ManagementContext, range: Range, { now, ask, mayAsk }: Asking) {
  const candidates = await candidatesOf(context, range, [now, await ask(range.to)]);
  const found = await findSegments({ candidates: candidates.versions, to: range.to, ask, keyOf, mayAsk });
  const entries = await context.repository.read(async (reader) => {
    const read: (HistoryEntry | undefined)[] = [];
    for (const { from } of found.segments) read.push(await reader.findHistory(from));
    return read;
  });
  const segments = found.segments.map((segment, index) => ({
    from_version: segment.from,
    to_version: segment.to,
    outcome: outcomeOf(segment.answer),
    same_as_now: keyOf(segment.answer) === keyOf(now),
    exact: segment.isExact,
    ...entryOf(entries[index]),
  }));
  const complete = found.isComplete && candidates.areAll;
  return {
    message: `${counted(segments.length, 'segment')} of config versions`,
    version: null,
    segments,
    complete,
  };
}

interface Candidates {
  readonly versions: readonly number[];
  /** False when there are more than are considered. */
  readonly areAll: boolean;
}

/** The versions at which the answer may change. */
async function candidatesOf(
  { repository }: ManagementContext,
  { from, to }: Range,
  tried: readonly Tried[],
): Promise<Candidates> {
  const appIds = new Set(tried.flatMap(({ explanation }) => explanation.app?.id ?? []));
  if (to - from < WHOLE_RANGE_MAX || appIds.size === 0) {
    // For a long range without an app: versions at equal distances.
    const step = Math.max(1, Math.ceil((to - from) / CANDIDATES_MAX));
    const versions = Array.from(
      { length: Math.floor((to - from) / step) + 1 },
      (_, index) => from + index * step,
    );
    return { versions: unique([...versions, to]), areAll: step === 1 };
  }
  const versions = [from, to];
  let areAll = true;
  for (const appId of appIds) {
    let after: string | undefined = String(to + 1);
    while (after !== undefined) {
      const page = { limit: PAGE_ITEMS, after };
      const listed: Page<HistoryEntry> = await repository.read((reader) =>
        reader.listHistory(page, { app_id: appId }),
      );
      const inRange = listed.items.filter((entry) => entry.config_version >= from);
      versions.push(...inRange.map((entry) => entry.config_version));
      const isOver = inRange.length < listed.items.length || versions.length > CANDIDATES_MAX;
      if (versions.length > CANDIDATES_MAX) areAll = false;
      after = isOver ? undefined : (listed.nextAfter ?? undefined);
    }
  }
  return { versions: unique(versions.filter((version) => version <= to)), areAll };
}

const unique = (versions: readonly number[]): number[] => [...new Set(versions)].toSorted((a, b) => a - b);

function outcomeOf({ explanation, isGuessed }: Tried): object {
  const { outcome, status, code, stage, detail, upstream_url: backend } = outcomeOn(0, explanation);
  return {
    outcome,
    status,
    code,
    stage,
    detail,
    backend,
    app: explanation.app?.slug ?? null,
    guessed: isGuessed,
  };
}

const NO_ENTRY = { at: null, actor: null, source: null, action: null, message: null };

function entryOf(entry: HistoryEntry | undefined): object {
  if (entry === undefined) return NO_ENTRY;
  const { at, actor, source, action, message } = entry;
  return { at, actor, source, action, message };
}
