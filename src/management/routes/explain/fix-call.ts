/** The call of this API that makes the change of a fix, so that the console can offer it as a button. */
import type { Explanation, Fix } from '../../../explain/schema.ts';
import { StorageUnavailable } from '../../../storage/storage-errors.ts';
import { API_PREFIX, JSON_TYPE, MERGE_PATCH_TYPE } from '../../api/operation.ts';
import type { ManagementContext } from '../../context.ts';
import { writableTag } from '../../crud/crud-reads.ts';
import { apps } from '../resources/apps.ts';
import { endpoints } from '../resources/endpoints.ts';
import { revisions } from '../resources/revisions.ts';
import { tokens } from '../resources/tokens.ts';
import { versions } from '../resources/versions.ts';

type FixCall = NonNullable<Fix['call']>;
type Body = NonNullable<FixCall['body']>;

interface Place {
  readonly path: string;
  readonly tag: () => Promise<string | undefined>;
}

/** The fix with its call; with null when no call can make the change. */
export async function withCall(
  context: ManagementContext,
  explanation: Explanation,
): Promise<Explanation['fix']> {
  const { fix } = explanation;
  if (fix === null) return null;
  return { ...fix, call: (await callOf(context, explanation, fix)) ?? null };
}

async function callOf(
  context: ManagementContext,
  explanation: Explanation,
  { action, target, value }: Fix,
): Promise<FixCall | undefined> {
  const place = target === null ? undefined : placeOf(context, explanation, target);
  if (place === undefined || !isBody(value)) return undefined;
  const common = { content_type: MERGE_PATCH_TYPE, role: 'editor' } as const;
  switch (action) {
    // The operator must supply more than the gateway knows.
    case 'create_revision':
      return undefined;
    case 'activate_revision': {
      const path = `${place.path}/activate`;
      return { ...common, method: 'POST', path, content_type: JSON_TYPE, body: null, if_match: null };
    }
    case 'register_endpoint': {
      const path = `${place.path}/endpoints`;
      return { ...common, method: 'POST', path, content_type: JSON_TYPE, body: value, if_match: null };
    }
    case 'set_policy': {
      const field = target?.type === 'endpoint' ? 'policy_override' : 'default_policy';
      const if_match = await tagOf(place);
      return { ...common, method: 'PATCH', path: place.path, body: { [field]: value }, if_match };
    }
    default:
      return { ...common, method: 'PATCH', path: place.path, body: value, if_match: await tagOf(place) };
  }
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function placeOf(
  context: ManagementContext,
  { app, version, revision }: Explanation,
  { type, id }: NonNullable<Fix['target']>,
): Place | undefined {
  if (app === null) return undefined;
  const ofApp = `${API_PREFIX}/apps/${app.id}`;
  const ofVersion = `${ofApp}/versions/${version?.id ?? ''}`;
  const inVersion = { app_id: app.id, version_id: version?.id ?? '' };
  switch (type) {
    case 'app':
      return { path: ofApp, tag: () => writableTag(apps, context, { app_id: id }) };
    case 'token': {
      const params = { app_id: app.id, token_id: id };
      return { path: `${ofApp}/tokens/${id}`, tag: () => writableTag(tokens, context, params) };
    }
    case 'version':
      return { path: ofVersion, tag: () => writableTag(versions, context, inVersion) };
    case 'revision': {
      const params = { ...inVersion, revision_id: id };
      return { path: `${ofVersion}/revisions/${id}`, tag: () => writableTag(revisions, context, params) };
    }
    case 'endpoint': {
      if (revision === null) return undefined;
      const params = { ...inVersion, revision_id: revision.id, endpoint_id: id };
      const path = `${ofVersion}/revisions/${revision.id}/endpoints/${id}`;
      return { path, tag: () => writableTag(endpoints, context, params) };
    }
    case 'setting':
      return undefined;
  }
}

/** null when the record is gone, or the database unavailable. */
async function tagOf({ tag }: Place): Promise<string | null> {
  try {
    return (await tag()) ?? null;
  } catch (error) {
    if (error instanceof StorageUnavailable) return null;
    throw error;
  }
}
