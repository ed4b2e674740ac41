/** The history of the configuration: its versions, the changes of each, differences between two, and rollbacks. */
import { Admission } from '../api/admission.ts';
import { Type } from 'typebox';
import type {
  HistoryEntry,
  HistoryFilter,
  RecordChange,
  RecordName,
} from '../../model/history/config-history.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { closed, dateTime } from '../../model/schema-pieces.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import type { Actor } from '../access/admin-auth.ts';
import { answer, fail, isFailure, notFound, type Failure } from '../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import {
  countedPageRequest,
  PAGE_FIELDS,
  PAGE_QUERY,
  pageInfo,
  type Query,
  addPeriod,
} from '../api/query.ts';
import type { ManagementContext } from '../context.ts';
import { presentChanges } from '../declaration/present-changes.ts';
import { declaredThen, configVersionOf, notKept } from '../history/kept-versions.ts';
import { listedChanges } from '../history/listed-changes.ts';
import { changesBetween, subjectOf } from '../history/state-changes.ts';
import { textOfDifference } from '../history/text-difference.ts';
import {
  ConfigDiffSchema,
  ConfigVersionEnvelopeSchema,
  ConfigVersionListSchema,
} from '../schemas/config/config-history.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { maskRecord } from '../write/policy-secrets-view.ts';
import { presentKey } from './resources/tokens.ts';

const VERSIONS = `${API_PREFIX}/config/versions`;

const text = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 128, description }));
const version = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }));

const LIST_QUERY = jsonSchema(
  Type.Object(
    {
      ...PAGE_FIELDS,
      actor: text('Who made the change, as in the audit log.'),
      source: text('`api`, `cli`, `console`, `import` or `system`.'),
      app: text('Slug or id of an app that the version changed; for a deleted app, the id.'),
      since: Type.Optional(dateTime('Versions from this time on.')),
      until: Type.Optional(dateTime('Versions before this time.')),
    },
    closed,
  ),
);

const DIFF_QUERY = jsonSchema(
  Type.Object(
    {
      from: version('The version to start from. Required.'),
      to: version('The version to compare with. Default: the version in force.'),
      app: text('Slug or id of the only app to compare.'),
    },
    closed,
  ),
);

export function historyOperations(context: ManagementContext): Operation[] {
  return [listOperation(context), diffOperation(context), showOperation(context)];
}

/** Each request loads the configuration of two versions. */
const DIFFS_MAX = 8;

function listOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: VERSIONS,
    operationId: 'listConfigVersions',
    tag: 'Configuration',
    summary: 'List the versions of the configuration',
    description:
      'Newest first. A version must match every filter. The history keeps the latest versions, up to a limit in number and size.',
    access: 'viewer',
    query: LIST_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of versions',
      schema: jsonSchema(ConfigVersionListSchema),
    },
    failures: [],
    handle: async (call) => {
      const request = countedPageRequest(call.query);
      if (isFailure(request)) return request;
      return context.repository.read(async (reader) => {
        const filter = await filterOf(reader, call.query);
        if (isFailure(filter)) return filter;
        const page = await reader.listHistory(request, filter);
        const first = await reader.firstRecords(page.items.map((entry) => entry.config_version));
        const items = page.items.map((entry) => presentEntry(entry, first, call.actor));
        const body = {
          status: 200,
          message: 'Config versions listed',
          data: items,
          page: pageInfo(page, request.limit),
          kept_from: await reader.historyFrom(),
        };
        return { status: 200, headers: {}, body };
      });
    },
  };
}

async function filterOf(reader: ConfigReader, query: Query): Promise<HistoryFilter | Failure> {
  const filter: Record<string, string> = {};
  for (const name of ['actor', 'source']) if (query[name] !== undefined) filter[name] = String(query[name]);
  const refused = addPeriod(query, filter);
  if (refused !== undefined) return refused;
  if (query['app'] !== undefined) {
    const reference = String(query['app']);
    filter['app_id'] = (await reader.findApp(reference))?.id ?? reference;
  }
  return filter;
}

/** Only readers of the audit log see where a write came from. */
function presentEntry(entry: HistoryEntry, first: ReadonlyMap<number, RecordName>, { role }: Actor): object {
  const { bytes: _bytes, git_commit: commit, address, ...shown } = entry;
  const record = first.get(entry.config_version);
  const first_record = record === undefined ? null : presentName(record);
  return { ...shown, address: role === 'admin' ? address : null, commit, first_record };
}

function showOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${VERSIONS}/{config_version}`,
    operationId: 'getConfigVersion',
    tag: 'Configuration',
    summary: 'A version of the configuration, and its changes',
    description:
      'The changed records are listed in pages. Secrets are masked; values of API keys are never shown.',
    access: 'viewer',
    query: PAGE_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The version with a page of its changes',
      schema: jsonSchema(ConfigVersionEnvelopeSchema),
    },
    failures: ['config_version_gone'],
    handle: async (call) => {
      const request = countedPageRequest(call.query);
      if (isFailure(request)) return request;
      const configVersion = configVersionOf(call.params['config_version']);
      if (typeof configVersion !== 'number') return configVersion;
      return context.repository.read(async (reader) => {
        const entry = await reader.findHistory(configVersion);
        if (entry === undefined) return notKept(reader, configVersion);
        const page = await reader.historyChanges(configVersion, request);
        const first = await reader.firstRecords([configVersion]);
        const changes = page.items.map(presentRecordChange);
        const data = { ...presentEntry(entry, first, call.actor), changes };
        const body = { status: 200, message: 'Config version', data, page: pageInfo(page, request.limit) };
        return { status: 200, headers: {}, body };
      });
    },
  };
}

function presentRecordChange(change: RecordChange): object {
  const { id, app_id, before, after } = change;
  return {
    change: before === null ? 'create' : after === null ? 'delete' : 'update',
    ...presentName(change),
    id,
    app_id,
    before: before && presentRecord(before),
    after: after && presentRecord(after),
  };
}

function presentName({ type, name, parents }: RecordName): object {
  const above = [parents['app'], parents['version'], parents['revision']].filter(
    (each) => each !== undefined,
  );
  return { type: type === 'token' ? 'key' : type, path: [...above, name] };
}

function presentRecord(record: NonNullable<RecordChange['before']>): object {
  return 'token_hash' in record ? presentKey(record) : maskRecord(record);
}

function diffOperation(context: ManagementContext): Operation {
  const diffs = new Admission(DIFFS_MAX);
  return {
    method: 'GET',
    path: `${VERSIONS}/diff`,
    operationId: 'diffConfigVersions',
    tag: 'Configuration',
    summary: 'Compare two versions of the configuration',
    description:
      'Records are compared by their identity: a renamed app is one change. The list has the same form as in a plan; the text is for people. One comparison runs at a time; when several are waiting, the answer is 503 with `Retry-After`.',
    access: 'viewer',
    admission: diffs,
    query: DIFF_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The changes from one version to the other',
      schema: jsonSchema(envelopeSchema('ConfigDiffEnvelope', ConfigDiffSchema)),
    },
    failures: ['not_found', 'config_version_gone', 'overloaded'],
    handle: (call) =>
      diffs.runAlone(() =>
        context.repository.read((reader) => difference(reader, call, context.clock.nowMs())),
      ),
  };
}

async function difference(reader: ConfigReader, { query }: Call, nowMs: number) {
  const { from, to = await reader.configVersion(), app } = query;
  if (typeof from !== 'number' || typeof to !== 'number')
    return fail('invalid_query', 'The query parameter "from" is required: the version to start from');
  const [before, after] = [await declaredThen(reader, from, nowMs), await declaredThen(reader, to, nowMs)];
  if (isFailure(before)) return before;
  if (isFailure(after)) return after;
  const states = [...before, ...after];
  const named = states.filter(({ tree }) => tree.app.id === app || tree.app.slug === app);
  if (app !== undefined && named.length === 0) return notFound('app', String(app));
  const ids = new Set((app === undefined ? states : named).map(({ tree }) => tree.app.id));
  const [old, fresh] = [before, after].map((each) => each.filter(({ tree }) => ids.has(tree.app.id)));
  const changes = changesBetween(old ?? [], fresh ?? []);
  const touched = new Set(changes.map((change) => appIdOf(change)));
  const { changes: listed } = listedChanges(changes, old ?? []);
  return answer(200, listed.length === 0 ? 'No difference' : 'Differences', {
    from,
    to,
    ...presentChanges(listed),
    text: textOfDifference(old ?? [], fresh ?? [], touched, [from, to]),
  });
}

function appIdOf(change: Parameters<typeof subjectOf>[0]): string {
  const { type, record, place } = subjectOf(change);
  return type === 'app' ? record.id : (place.appId ?? '');
}
