/**
 * What of a change has to be compiled: only records that differ, in what is compiled, from those that were compiled
 * before. A change of a description or a label compiles nothing; it makes a config version all the same.
 *
 * The fields that are not compiled are listed here. A new field counts as compiled until it is listed;
 * compiled-difference.test.ts compiles records of which these fields cannot be read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Steps } from './slices.ts';
import type { AppTree, ConfigChange, RevisionTree, VersionTree } from '../../model/config.ts';
import type { App, Endpoint, Revision, Version } from '../../model/resources.ts';

type FieldsOf<R> = ReadonlySet<keyof R | string>;

export const NOT_COMPILED = {
  app: new Set([
    'created_at',
    'updated_at',
    'name',
    'gateway_path',
    'description',
    'labels',
  ]) as FieldsOf<App>,
  version: new Set(['created_at', 'updated_at', 'gateway_path_is_default']) as FieldsOf<Version>,
  revision: new Set(['created_at', 'updated_at']) as FieldsOf<Revision>,
  endpoint: new Set(['created_at', 'updated_at', 'revision_id']) as FieldsOf<Endpoint>,
};

/** The records before a change. */
export interface KnownConfig {
  appOf(id: string): App | undefined;
  versionTree(id: string): VersionTree | undefined;
  versionIdsOf(appId: string): Iterable<string>;
}

/**
 * The change without what is compiled already, in steps. A change with `reset` stays as it is.
 * @param isCompiled the revisions that are compiled; absent: as in a worker
 */
export function* compiledDifference(
  change: ConfigChange,
  known: KnownConfig,
  isCompiled: (tree: RevisionTree) => boolean = isCurrent,
): Steps<ConfigChange> {
  if (change.reset) return change;
  const apps: AppTree[] = [];
  const versions: VersionTree[] = [];
  const removedVersionIds = [...change.removedVersionIds];
  const differs = function* (tree: VersionTree): Steps<boolean> {
    const before = known.versionTree(tree.version.id);
    return before === undefined || !(yield* isSameVersion(before, tree, isCompiled));
  };
  for (const tree of change.apps) {
    const before = known.appOf(tree.app.id);
    if (before === undefined || !isSame(before, tree.app, NOT_COMPILED.app)) {
      apps.push(tree);
      continue;
    }
    const kept = new Set(tree.versions.map(({ version }) => version.id));
    for (const id of known.versionIdsOf(tree.app.id)) if (!kept.has(id)) removedVersionIds.push(id);
    for (const version of tree.versions) if (yield* differs(version)) versions.push(version);
  }
  for (const version of change.versions) if (yield* differs(version)) versions.push(version);
  const endpoints = change.endpoints?.filter(({ versionId, revision, endpointId, endpoint }) => {
    const tree = known.versionTree(versionId)?.revisions.find((each) => each.revision.id === revision.id);
    if (tree === undefined) return true;
    const before = tree.endpoints.find(({ id }) => id === endpointId);
    const isKnown = before !== undefined && endpoint !== undefined;
    return !(isKnown && isSame(before, endpoint, NOT_COMPILED.endpoint)) && isCompiled(tree);
  });
  return { ...change, apps, versions, removedVersionIds, ...(endpoints && { endpoints }) };
}

const isCurrent = ({ revision }: RevisionTree): boolean => revision.is_current;

function* isSameVersion(
  before: VersionTree,
  after: VersionTree,
  isCompiled: (tree: RevisionTree) => boolean,
): Steps<boolean> {
  if (!isSame(before.version, after.version, NOT_COMPILED.version)) return false;
  const trees = after.revisions.filter(isCompiled);
  const byId = new Map(before.revisions.filter(isCompiled).map((tree) => [tree.revision.id, tree]));
  if (trees.length !== byId.size) return false;
  for (const tree of trees) {
    const other = byId.get(tree.revision.id);
    if (other === undefined || !isSame(other.revision, tree.revision, NOT_COMPILED.revision)) return false;
    if (!(yield* haveSameEndpoints(other.endpoints, tree.endpoints))) return false;
  }
  return true;
}

/** In any order; usually it is the same. */
function* haveSameEndpoints(before: readonly Endpoint[], after: readonly Endpoint[]): Steps<boolean> {
  if (before.length !== after.length) return false;
  let byId: Map<string, Endpoint> | undefined;
  for (const [index, endpoint] of after.entries()) {
    let other = before[index];
    if (other?.id !== endpoint.id) {
      byId ??= new Map(before.map((each) => [each.id, each]));
      other = byId.get(endpoint.id);
    }
    if (other === undefined || !isSame(other, endpoint, NOT_COMPILED.endpoint)) return false;
    yield;
  }
  return true;
}

function isSame<R extends object>(before: R, after: R, except: FieldsOf<R>): boolean {
  for (const field of Object.keys({ ...before, ...after }) as (keyof R & string)[]) {
    const [one, other] = [before[field], after[field]];
    if (one !== other && !except.has(field) && !isDeepStrictEqual(one, other)) return false;
  }
  return true;
}
