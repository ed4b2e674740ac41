/**
 * The part of the configuration in force that a replay needs: everything that a change touches and that the recorded
 * requests reached, and only the paths of everything else. Pure.
 */
import type { ConfigChange, VersionTree } from '../../model/config.ts';

/** @param whole the whole configuration in force @param versionIds versions that recorded requests reached */
export function replayBase(
  whole: ConfigChange,
  change: ConfigChange,
  versionIds: ReadonlySet<string>,
): ConfigChange {
  const changedApps = new Set([...change.apps.map(({ app }) => app.id), ...change.removedAppIds]);
  const changedVersions = new Set([
    ...change.versions.map(({ version }) => version.id),
    ...change.removedVersionIds,
    ...(change.endpoints ?? []).map(({ versionId }) => versionId),
  ]);
  const isChanged = ({ version }: VersionTree): boolean =>
    changedApps.has(version.app_id) || changedVersions.has(version.id);
  const changedPaths = whole.apps.flatMap(({ versions }) =>
    versions.filter(isChanged).map(({ version }) => version.gateway_path),
  );
  // Requests fall back to a version above when the changed one moves away.
  const isAbove = ({ version: { gateway_path: path } }: VersionTree): boolean =>
    changedPaths.some((changed) => changed.startsWith(path));
  const needed = (tree: VersionTree): boolean =>
    isChanged(tree) || versionIds.has(tree.version.id) || isAbove(tree);
  const apps = whole.apps.map(({ app, versions }) => ({
    app,
    versions: versions.map((tree) => (needed(tree) ? tree : { ...tree, revisions: [] })),
  }));
  return { ...whole, apps };
}
