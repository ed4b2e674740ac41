/**
 * The slow, obvious twin of what the workers do with configuration changes: maps by id, to which changes are
 * applied one by one. Applying all changes must lead to what `loadAll` returns.
 */
import type { ConfigChange, VersionTree } from '../../src/model/config.ts';
import type { App, StoredApiKey } from '../../src/model/resources.ts';

export interface ConfigModel {
  configVersion: number;
  readonly apps: Map<string, App>;
  readonly versions: Map<string, VersionTree>;
  readonly keys: Map<string, StoredApiKey>;
}

export function emptyModel(): ConfigModel {
  return { configVersion: 0, apps: new Map(), versions: new Map(), keys: new Map() };
}

export function modelOf(everything: ConfigChange): ConfigModel {
  const model = emptyModel();
  fill(model, everything);
  model.configVersion = everything.configVersion;
  return model;
}

/** Throws when a change does not follow the one before. */
export function applyChange(model: ConfigModel, change: ConfigChange): void {
  if (change.reset || (change.after?.configVersion ?? change.configVersion - 1) !== model.configVersion) {
    throw new Error(`change ${change.configVersion} does not follow ${model.configVersion}`);
  }
  model.configVersion = change.configVersion;
  for (const appId of [...change.removedAppIds, ...change.apps.map(({ app }) => app.id)]) {
    model.apps.delete(appId);
    for (const [id, { version }] of model.versions) if (version.app_id === appId) model.versions.delete(id);
  }
  for (const id of change.removedVersionIds) model.versions.delete(id);
  for (const id of change.removedKeyIds) model.keys.delete(id);
  fill(model, change);
}

function fill(model: ConfigModel, change: ConfigChange): void {
  for (const { app, versions } of change.apps) {
    model.apps.set(app.id, app);
    for (const tree of versions) model.versions.set(tree.version.id, tree);
  }
  for (const tree of change.versions) model.versions.set(tree.version.id, tree);
  for (const key of change.keys) model.keys.set(key.id, key);
}
