/**
 * What a change of an app's configuration means for its endpoints: every route before and after, and where their
 * effective policies differ, with the level that sets each part. A changed key is reported with the endpoints that
 * now treat its callers differently. Pure; compares plain records, in which untouched versions are the same objects.
 */
import { isDeepStrictEqual } from 'node:util';
import type { AppTree, ConfigChange, RevisionTree, VersionTree } from '../../model/config.ts';
import { admitsKey, takesKeys } from '../../policy/records/parts-of-records.ts';
import { PART_NAMES, PARTS, type PartName } from '../../policy/registry.ts';
import type { PolicyPart } from '../../policy/part.ts';
import type { EffectivePolicy, PolicySource } from '../../model/policy.ts';
import type { Endpoint, StoredApiKey } from '../../model/resources.ts';
import { mergePolicy } from '../../config/merge-policy.ts';

/** Parts that a key may replace with its own value. */
const PARTS_OF_KEYS = PARTS.filter(({ keys }) => keys?.valueFor !== undefined);

export type ChangeKind = 'added' | 'removed' | 'changed';

export interface PartState {
  readonly value: unknown;
  readonly source: PolicySource;
}

interface PartChange {
  readonly part: PartName;
  readonly before: PartState | undefined;
  readonly after: PartState | undefined;
}

export interface RouteState {
  readonly version: string;
  readonly revision: string;
  readonly revisionId: string;
  /** undefined: what no endpoint of a pass-through revision matches. */
  readonly endpointId: string | undefined;
  readonly method: string;
  readonly route: string;
  /** The hosts of the app; empty: every host. */
  readonly hosts: readonly string[];
  readonly serves: boolean;
  readonly effective: EffectivePolicy;
}

export interface EndpointChange {
  readonly change: ChangeKind;
  readonly before: RouteState | undefined;
  readonly after: RouteState | undefined;
  readonly parts: readonly PartChange[];
  /** For a changed key: whether it gives access to the endpoint. */
  readonly admits: { readonly before: boolean; readonly after: boolean } | undefined;
}

/** The app's tree after the change; undefined when the app is deleted. */
export function treeAfter(before: AppTree | undefined, change: ConfigChange): AppTree | undefined {
  const replaced = change.apps.find(({ app }) => before === undefined || app.id === before.app.id);
  const tree = replaced ?? before;
  if (tree === undefined || change.removedAppIds.includes(tree.app.id)) return undefined;
  const versions = new Map(tree.versions.map((version) => [version.version.id, version]));
  for (const id of change.removedVersionIds) versions.delete(id);
  for (const version of change.versions) {
    if (version.version.app_id === tree.app.id) versions.set(version.version.id, version);
  }
  return { app: tree.app, versions: [...versions.values()] };
}

/** The routes that differ: first those that existed before, in their old order, then the new ones. */
export function endpointChanges(before: AppTree | undefined, after: AppTree | undefined): EndpointChange[] {
  const changes: EndpointChange[] = [];
  const versionsAfter = new Map(after?.versions.map((version) => [version.version.id, version]));
  const compare = (old: VersionTree | undefined, fresh: VersionTree | undefined): void => {
    if (old === fresh && before?.app === after?.app) return;
    const remaining = new Map(routesOf(after, fresh).map((route) => [keyOf(route), route]));
    for (const route of routesOf(before, old)) {
      const next = remaining.get(keyOf(route));
      remaining.delete(keyOf(route));
      const change = compareRoutes(route, next);
      if (change !== undefined) changes.push(change);
    }
    for (const route of remaining.values()) changes.push(changeOf('added', undefined, route));
  };
  for (const version of before?.versions ?? []) {
    compare(version, versionsAfter.get(version.version.id));
    versionsAfter.delete(version.version.id);
  }
  for (const version of versionsAfter.values()) compare(undefined, version);
  return changes;
}

/**
 * The endpoints of an app that treat the callers of a key differently: another limit, or another verdict.
 * @param nowMs decides whether the key has expired
 */
export function keyChanges(
  tree: AppTree,
  before: StoredApiKey | undefined,
  after: StoredApiKey | undefined,
  nowMs: number,
): EndpointChange[] {
  const changes: EndpointChange[] = [];
  for (const version of tree.versions) {
    for (const route of routesOf(tree, version)) {
      if (!takesKeys(route.effective.policy)) continue;
      const admits = { before: opens(route, before, nowMs), after: opens(route, after, nowMs) };
      const parts = PARTS_OF_KEYS.map((part) => ({
        part: part.name,
        before: partForKey(part, route.effective, before),
        after: partForKey(part, route.effective, after),
      })).filter((part) => !isDeepStrictEqual(part.before, part.after));
      if (parts.length === 0 && admits.before === admits.after) continue;
      changes.push({ change: 'changed', before: route, after: route, parts, admits });
    }
  }
  return changes;
}

const keyOf = ({ revisionId, endpointId }: RouteState): string => `${revisionId} ${endpointId ?? ''}`;

function compareRoutes(before: RouteState, after: RouteState | undefined): EndpointChange | undefined {
  if (after === undefined) return changeOf('removed', before, undefined);
  const change = changeOf('changed', before, after);
  const isSame =
    change.parts.length === 0 &&
    before.serves === after.serves &&
    before.route === after.route &&
    isDeepStrictEqual(before.hosts, after.hosts) &&
    before.method === after.method;
  return isSame ? undefined : change;
}

function changeOf(
  change: ChangeKind,
  before: RouteState | undefined,
  after: RouteState | undefined,
): EndpointChange {
  const parts: PartChange[] = [];
  for (const part of PART_NAMES) {
    const [old, fresh] = [partOf(before?.effective, part), partOf(after?.effective, part)];
    if (!isDeepStrictEqual(old, fresh)) parts.push({ part, before: old, after: fresh });
  }
  return { change, before, after, parts, admits: undefined };
}

function partOf(effective: EffectivePolicy | undefined, part: PartName): PartState | undefined {
  const source = effective?.sources[part];
  return source === undefined ? undefined : { value: effective?.policy[part], source };
}

function routesOf(tree: AppTree | undefined, version: VersionTree | undefined): RouteState[] {
  if (tree === undefined || version === undefined) return [];
  return version.revisions.flatMap((revision) => {
    const routes = revision.endpoints.map((endpoint) => routeOf(tree, version, revision, endpoint));
    // In managed mode only registered endpoints are reachable.
    if (tree.app.routing_mode === 'pass_through') routes.push(routeOf(tree, version, revision, undefined));
    return routes;
  });
}

function routeOf(
  { app }: AppTree,
  { version }: VersionTree,
  { revision }: RevisionTree,
  endpoint: Endpoint | undefined,
): RouteState {
  const gatewayPath = version.gateway_path === '/' ? '' : version.gateway_path;
  return {
    version: version.version,
    revision: revision.revision,
    revisionId: revision.id,
    endpointId: endpoint?.id,
    method: endpoint?.method ?? '*',
    route: gatewayPath + (endpoint?.path ?? '/*'),
    hosts: app.hosts,
    serves:
      version.status !== 'retired' &&
      revision.is_current &&
      revision.traffic_weight > 0 &&
      (endpoint?.is_active ?? true),
    effective: mergePolicy(app, revision, endpoint),
  };
}

/** The key's own value of the part, or else the route's. */
function partForKey(
  { name, keys }: PolicyPart<PartName>,
  effective: EffectivePolicy,
  key: StoredApiKey | undefined,
): PartState | undefined {
  if (key === undefined) return undefined;
  const value = keys?.valueFor?.(key);
  return value === undefined ? partOf(effective, name) : { value, source: { level: 'key', id: key.id } };
}

function opens({ effective }: RouteState, key: StoredApiKey | undefined, nowMs: number): boolean {
  if (key === undefined || !key.is_active) return false;
  if (key.expires_at !== null && Date.parse(key.expires_at) <= nowMs) return false;
  return admitsKey(effective.policy, key);
}
