/**
 * `POST /config/bisect`: the config version since which a described request is answered differently. Changes
 * nothing.
 */
import { Type, type Static } from 'typebox';
import type { ExplainOn } from '../../explain/explain-access.ts';
import { ExplainInputSchema, OUTCOMES, type Explanation } from '../../explain/schema.ts';
import type { FieldError } from '../../model/errors.ts';
import type { HistoryEntry, RecordChange } from '../../model/history/config-history.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { answer, invalid, isFailure, type Answer, type Failure } from '../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import { configAt } from '../bisect/config-at.ts';
import { firstBad } from '../bisect/search.ts';
import {
  answerKey,
  decidingIds,
  isExpected,
  outcomeOn,
  type VersionOutcome,
} from '../bisect/version-outcome.ts';
import { configVersion, searched, viewerSearches } from '../bisect/version-search.ts';
import type { ManagementContext } from '../context.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { descriptionErrors } from './explain/explain.ts';

/** For a version that changed more, only the first changes are checked. */
const CHANGES_READ_MAX = 500;
const CHANGES_SHOWN_MAX = 50;

const text = Type.String();

const BodySchema = Type.Object(
  {
    request: ExplainInputSchema,
    good: Type.Optional(
      configVersion(
        'A version that answers differently from `bad`. Default: one is searched for in the history.',
      ),
    ),
    bad: Type.Optional(configVersion('The version to explain. Default: the version in force.')),
    expect: Type.Optional(
      Type.Object(
        {
          outcome: Type.Optional(oneOf(OUTCOMES)),
          status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
          code: Type.Optional(Type.String({ maxLength: 64 })),
        },
        {
          ...closed,
          minProperties: 1,
          description:
            'The right answer: versions with any other answer are bad. Without it, versions with the same answer as `bad` are bad.',
        },
      ),
    ),
  },
  { ...closed, title: 'ConfigBisect' },
);

const OutcomeSchema = Type.Object(
  {
    config_version: Type.Integer(),
    outcome: text,
    status: nullable(Type.Integer({ description: 'null when the backend decides the status.' })),
    code: nullable(text),
    stage: nullable(Type.String({ description: 'The stage that decided.' })),
    detail: nullable(text),
    upstream_url: nullable(text),
  },
  { ...closed, title: 'VersionOutcome' },
);

const ResultSchema = Type.Object(
  {
    config_version: nullable(
      Type.Integer({
        description:
          'The version since which the answer is the same as in `bad`. null: every tried version gives this answer.',
      }),
    ),
    tried: Type.Integer({ description: 'Number of versions that were tried.' }),
    before: nullable(OutcomeSchema),
    after: OutcomeSchema,
    at: nullable(dateTime('When the version was created.')),
    actor: nullable(text),
    source: nullable(text),
    action: nullable(text),
    message: nullable(text),
    git_commit: nullable(text),
    changes: Type.Array(
      Type.Object(
        {
          change: oneOf(['create', 'update', 'delete']),
          type: text,
          id: text,
          name: text,
          parents: Type.Record(Type.String(), Type.String()),
          fields: Type.Array(Type.String(), { description: 'Names of the fields that an update changed.' }),
        },
        closed,
      ),
      {
        description:
          'The changes of the version to records that decide the answer. If there are none: all its changes.',
      },
    ),
  },
  { ...closed, title: 'ConfigBisectResult' },
);
export type BisectResult = Static<typeof ResultSchema>;

export function bisectOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/config/bisect`,
    operationId: 'bisectConfig',
    tag: 'Configuration',
    summary: 'Find the version since which a request is answered differently',
    description:
      'Explains the request at stored versions, about twice the logarithm of their number, and changes nothing. The result is a version that gives the same answer as `bad`, while the version before it does not. If the answer changed back and forth, there may be other such versions.',
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
      description: 'The version that made the difference, or null if there is none',
      schema: jsonSchema(envelopeSchema('ConfigBisectEnvelope', ResultSchema)),
    },
    failures: ['overloaded'],
    handle: (call) => bisect(context, call),
  };
}

type BisectBody = Static<typeof BodySchema>;

interface Bounds {
  readonly oldest: number;
  readonly good: number | undefined;
  readonly bad: number;
}

async function bisect(context: ManagementContext, call: Call): Promise<Answer | Failure> {
  const body = call.body as BisectBody;
  const errors = descriptionErrors(body.request, '/request');
  if (errors.length > 0) return invalid(errors);
  const bounds = await context.repository.read((reader) => boundsOf(reader, body));
  if (isFailure(bounds)) return bounds;
  return searched(context, (explain) => search(context, body, bounds, explain));
}

async function boundsOf(reader: ConfigReader, { good, bad: given }: BisectBody): Promise<Bounds | Failure> {
  const head = await reader.configVersion();
  const oldest = await reader.historyFrom();
  const bad = given ?? head;
  const errors: FieldError[] = [];
  const kept = `the history goes from ${oldest} to ${head}`;
  if (bad < oldest || bad > head) errors.push({ pointer: '/bad', detail: `${bad} is not kept: ${kept}` });
  if (good !== undefined && (good < oldest || good > head))
    errors.push({ pointer: '/good', detail: `${good} is not kept: ${kept}` });
  else if (good !== undefined && good >= bad)
    errors.push({ pointer: '/good', detail: `must be older than the bad version ${bad}` });
  return errors.length > 0 ? invalid(errors) : { oldest, good, bad };
}

async function search(
  context: ManagementContext,
  { request, expect }: BisectBody,
  bounds: Bounds,
  explainOn: ExplainOn,
): Promise<Answer | Failure> {
  const explanations = new Map<number, Explanation>();
  const explain = async (version: number): Promise<Explanation> => {
    const known = explanations.get(version);
    if (known !== undefined) return known;
    const { explanation } = await explainOn(await configAt(context, version), request);
    explanations.set(version, explanation);
    return explanation;
  };
  const { good, bad } = bounds;
  const last = await explain(bad);
  const isBad = (explanation: Explanation): boolean =>
    expect === undefined ? answerKey(explanation) === answerKey(last) : !isExpected(explanation, expect);
  if (!isBad(last)) return invalid([{ pointer: '/expect', detail: `is the answer of version ${bad}` }]);
  if (good !== undefined && isBad(await explain(good))) {
    const detail =
      expect === undefined ? `gives the same answer as version ${bad}` : 'does not give the expected answer';
    return invalid([{ pointer: '/good', detail: `${good} ${detail}` }]);
  }
  const version = await firstBad(bounds, async (each) => isBad(await explain(each)));
  if (version === undefined) return nothingFound(bad, last, explanations.size);
  const [before, after] = [await explain(version - 1), await explain(version)];
  return foundVersion(context, version, { before, after, tried: explanations.size });
}

const NO_ENTRY = { at: null, actor: null, source: null, action: null, message: null, git_commit: null };

function nothingFound(bad: number, last: Explanation, tried: number): Answer {
  const after = outcomeOn(bad, last);
  const data = { config_version: null, tried, before: null, after, ...NO_ENTRY, changes: [] };
  return answer(200, 'No version with a different answer was found', data);
}

async function foundVersion(
  { repository }: ManagementContext,
  version: number,
  {
    before,
    after,
    tried,
  }: { readonly before: Explanation; readonly after: Explanation; readonly tried: number },
): Promise<Answer> {
  const { entry, changes } = await repository.read(async (reader) => ({
    entry: await reader.findHistory(version),
    changes: (await reader.historyChanges(version, { limit: CHANGES_READ_MAX, after: undefined })).items,
  }));
  const deciding = new Set([...decidingIds(before), ...decidingIds(after)]);
  const decisive = changes.filter(({ id }) => deciding.has(id));
  const shown = (decisive.length > 0 ? decisive : changes).slice(0, CHANGES_SHOWN_MAX);
  const outcomes: { readonly before: VersionOutcome; readonly after: VersionOutcome } = {
    before: outcomeOn(version - 1, before),
    after: outcomeOn(version, after),
  };
  const data = {
    config_version: version,
    tried,
    ...outcomes,
    ...entryOf(entry),
    changes: shown.map(changeOf),
  };
  return answer(200, `Answered differently since config version ${version}`, data);
}

function entryOf(
  entry: HistoryEntry | undefined,
): typeof NO_ENTRY | Pick<HistoryEntry, keyof typeof NO_ENTRY> {
  if (entry === undefined) return NO_ENTRY;
  const { at, actor, source, action, message, git_commit } = entry;
  return { at, actor, source, action, message, git_commit };
}

function changeOf({ type, id, name, parents, before, after }: RecordChange): object {
  const change = before === null ? 'create' : after === null ? 'delete' : 'update';
  return { change, type, id, name, parents, fields: changedFields(before, after) };
}

/** Names only: values may be secrets. */
function changedFields(before: object | null, after: object | null): string[] {
  if (before === null || after === null) return [];
  const [old, fresh] = [before, after].map((record) => new Map(Object.entries(record))) as [
    Map<string, unknown>,
    Map<string, unknown>,
  ];
  const names = new Set([...old.keys(), ...fresh.keys()]);
  names.delete('updated_at');
  return [...names].filter((name) => JSON.stringify(old.get(name)) !== JSON.stringify(fresh.get(name)));
}
