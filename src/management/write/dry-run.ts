/**
 * `dry_run=true` on a write: the same transaction with all of its checks. Instead of a commit, there is an answer that
 * says what would have changed for which endpoints. Nothing is stored, audited or published, and the config version
 * stays.
 */
import type { AppTree, ConfigChange } from '../../model/config.ts';
import { DRY_RUN_ITEMS_MAX } from '../schemas/dry-run.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import {
  endpointChanges,
  keyChanges,
  treeAfter,
  type ChangeKind,
  type EndpointChange,
  type PartState,
  type RouteState,
} from './dry-run-effects.ts';
import { answer, type Answer, type Failure } from '../api/failure.ts';
import type { Call } from '../api/operation.ts';
import { maskPart } from './policy-secrets-view.ts';
import type { DryRun, WritePath, WriteWork } from './write.ts';

/** A write for a call, or its dry run. */
export type ChangePath = (call: Call, work: WriteWork) => Promise<Answer | Failure>;

/** Policies may be large, and an answer has two of them for each endpoint. */
const ENDPOINTS_CHARS_MAX = 1_048_576;

export function createChangePath(write: WritePath, nowMs: () => number): ChangePath {
  return (call, work) =>
    write(call, work, call.query['dry_run'] === true ? dryRun(call.params, nowMs) : undefined);
}

/** @param params parameters of the path: the app, and the key if the call is about one */
function dryRun(params: Call['params'], nowMs: () => number): DryRun {
  let before: AppTree | undefined;
  let keyBefore: StoredApiKey | undefined;
  return {
    async begin(reader: ConfigReader) {
      const { app_id: appRef, token_id: keyId } = params;
      const app = appRef === undefined ? undefined : await reader.findApp(appRef);
      if (app === undefined) return;
      before = await reader.loadAppTree(app.id);
      keyBefore = keyId === undefined ? undefined : await reader.findKey(app.id, keyId);
    },
    conclude(real, change, etag) {
      const after = change === undefined ? before : treeAfter(before, change);
      const changes = endpointChanges(before, after);
      const keyAfter = change?.keys[0];
      const isOfKey = change !== undefined && change.keys.length + change.removedKeyIds.length === 1;
      if (isOfKey && before !== undefined && after !== undefined) {
        changes.push(...keyChanges(after, keyBefore, keyAfter, nowMs()));
      }
      return answer(
        200,
        'Dry run: nothing has been changed',
        {
          would_answer: presentAnswer(real),
          ...presentEndpoints(changes),
          ...presentKeys(change, new Map(keyBefore && [[keyBefore.id, keyBefore]])),
        },
        etag === undefined ? {} : { ETag: etag },
      );
    },
  };
}

/** The answer without the value of the token: a dry run creates no key. */
export function presentAnswer({ status, body }: Answer): Record<string, unknown> {
  if (typeof body !== 'object' || !('data' in body)) return { status, message: 'No content', data: null };
  const { data } = body;
  const message = 'message' in body ? body.message : '';
  if (typeof data !== 'object' || data === null || !('token' in data)) return { status, message, data };
  const { token: _token, ...shown } = data;
  return { status, message, data: shown };
}

export function presentEndpoints(changes: readonly EndpointChange[]): Record<string, unknown> {
  const endpoints: unknown[] = [];
  let characters = 0;
  for (const change of changes.slice(0, DRY_RUN_ITEMS_MAX)) {
    const presented = presentEndpoint(change);
    characters += JSON.stringify(presented).length;
    if (characters > ENDPOINTS_CHARS_MAX && endpoints.length > 0) break;
    endpoints.push(presented);
  }
  return { endpoints_total: changes.length, endpoints };
}

function presentEndpoint({ change, before, after, parts, admits }: EndpointChange): unknown {
  const place = after ?? before;
  return {
    change,
    version: place?.version,
    revision: place?.revision,
    revision_id: place?.revisionId,
    endpoint_id: place?.endpointId ?? null,
    method: place?.method,
    before: presentState(before),
    after: presentState(after),
    parts: parts.map(({ part, before: old, after: fresh }) => ({
      part,
      before: presentPart(part, old),
      after: presentPart(part, fresh),
    })),
    admits: admits ?? null,
  };
}

const presentState = (state: RouteState | undefined): unknown =>
  state === undefined
    ? null
    : { route: state.route, ...(state.hosts.length > 0 && { hosts: state.hosts }), serves: state.serves };

const presentPart = (name: string, state: PartState | undefined): unknown =>
  state === undefined ? null : { value: maskPart(name, state.value), source: state.source };

/** @param before former state of the keys that the write is about, by id */
export function presentKeys(
  change: ConfigChange | undefined,
  before: ReadonlyMap<string, StoredApiKey>,
): Record<string, unknown> {
  const keys: { readonly change: ChangeKind; readonly id: string; readonly name: string | null }[] = [];
  for (const { id, name } of change?.keys ?? []) {
    keys.push({ change: before.has(id) ? 'changed' : 'added', id, name });
  }
  for (const id of change?.removedKeyIds ?? []) {
    keys.push({ change: 'removed', id, name: before.get(id)?.name ?? null });
  }
  return { keys_total: keys.length, keys: keys.slice(0, DRY_RUN_ITEMS_MAX) };
}
