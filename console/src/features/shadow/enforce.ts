/** Finds the level that put a part in shadow mode, and the write that takes it out. */
import { call, type Answer, type AnyCallOptions } from '../../api/call.ts';
import type { Policy, ShadowRow } from '../../api/schema.ts';
import { shadowWords } from '../../text/shadow.ts';
import type { Change } from '../save/save-context.ts';

const REVISION = '/apps/{app_id}/versions/{version_id}/revisions/{revision_id}';

interface Place {
  readonly level: 'app' | 'revision' | 'endpoint';
  readonly item: string;
  readonly path: NonNullable<AnyCallOptions['path']>;
  readonly etag: string | undefined;
  readonly policy: Policy | null;
}

/** @returns undefined when the part is no longer in shadow mode */
export async function enforceChange(
  app: string,
  row: ShadowRow,
  partTitle: string,
): Promise<Change | undefined> {
  const place = await placeOf(app, row);
  const before = place.policy?.shadow ?? [];
  const after = before.filter((part) => part !== row.part);
  if (after.length === before.length) return undefined;
  const field = place.level === 'endpoint' ? 'policy_override' : 'default_policy';
  const { item, path, etag: ifMatch } = place;
  const operation = `PATCH ${item}`;
  return {
    title: shadowWords.enforceTitle(partTitle, shadowWords.levels[place.level] ?? place.level),
    action: shadowWords.enforce,
    operation,
    options: { path, body: { [field]: { shadow: after } }, ifMatch },
    base: { [field]: { shadow: before } },
    done: shadowWords.enforced(partTitle),
    undo: { operation, options: { path, body: { [field]: { shadow: before } } } },
  };
}

/** The level whose list of parts counts for the route of the row. */
async function placeOf(app: string, { version, revision, endpoint_id: endpoint }: ShadowRow): Promise<Place> {
  const inApp = { app_id: app };
  const ofApp = async (): Promise<Place> => {
    const { body, etag } = await call('GET /apps/{app_id}', { path: inApp });
    return { level: 'app', item: '/apps/{app_id}', path: inApp, etag, policy: body.data.default_policy };
  };
  if (version === null || revision === null) return ofApp();
  const inRevision = { ...inApp, version_id: version, revision_id: revision };
  const level = await levelOf(inRevision, endpoint);
  if (level === 'endpoint' && endpoint !== null) {
    const path = { ...inRevision, endpoint_id: endpoint };
    const { body, etag } = await call(`GET ${REVISION}/endpoints/{endpoint_id}`, { path });
    const item = `${REVISION}/endpoints/{endpoint_id}`;
    return { level, item, path, etag, policy: body.data.policy_override };
  }
  if (level !== 'revision') return ofApp();
  const { body, etag } = await call(`GET ${REVISION}`, { path: inRevision });
  return { level, item: REVISION, path: inRevision, etag, policy: body.data.default_policy };
}

async function levelOf(
  path: { readonly app_id: string; readonly version_id: string; readonly revision_id: string },
  endpoint: string | null,
): Promise<string | undefined> {
  const answer: Answer<{
    readonly data: { readonly sources: Readonly<Record<string, { readonly level: string }>> };
  }> =
    endpoint === null
      ? await call(`GET ${REVISION}/effective-policy`, { path })
      : await call(`GET ${REVISION}/endpoints/{endpoint_id}/effective-policy`, {
          path: { ...path, endpoint_id: endpoint },
        });
  return answer.body.data.sources['shadow']?.level;
}
