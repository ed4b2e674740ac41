/**
 * Restores the configuration, or one app, to a stored config version, by the identity of records. It is one write like
 * any other. restored-state.ts decides what is restored.
 */
import type { AppState } from '../../model/history/config-history.ts';
import type { ConfigWriter } from '../../storage/repository.ts';
import { fail, isFailure, type Failure } from '../api/failure.ts';
import type { DeclaredChanges } from '../declaration/declared-changes.ts';
import { pointerOf } from '../declaration/tree.ts';
import type { RuleContext } from '../write/rule-context.ts';
import { appsThen } from './kept-versions.ts';
import { listedChanges } from './listed-changes.ts';
import { restoredState, type NotRestored, type RestoredState } from './restored-state.ts';
import { changesBetween } from './state-changes.ts';
import { writeChanges } from './write-changes.ts';
import { counted } from '../../lib/text/counted.ts';

export interface RollbackOptions {
  /** Slug or id of the only app to restore. */
  readonly app: string | undefined;
  /** Whether keys created since are deleted. */
  readonly deletesKeys: boolean;
}

export interface RolledBack {
  readonly log: DeclaredChanges;
  readonly notRestored: readonly NotRestored[];
}

/** @returns a failure when it is not allowed; the caller then aborts the write */
export async function rollBack(
  writer: ConfigWriter,
  rules: RuleContext,
  configVersion: number,
  { app, deletesKeys }: RollbackOptions,
): Promise<RolledBack | Failure> {
  const states = await statesOf(writer, configVersion, app);
  if (isFailure(states)) return states;
  const { now, past } = states;
  const restored = restoredState(now, past, deletesKeys, rules.clock.nowMs());
  if (restored.orphans.length > 0) return orphansFailure(restored, configVersion);
  const changes = changesBetween(now, restored.states);
  const refused = await writeChanges(writer, rules, changes);
  return refused ?? { log: listedChanges(changes, now), notRestored: restored.notRestored };
}

interface States {
  readonly now: readonly AppState[];
  readonly past: readonly AppState[];
}

async function statesOf(
  writer: ConfigWriter,
  configVersion: number,
  app: string | undefined,
): Promise<States | Failure> {
  const current = await writer.configVersion();
  const past = await appsThen(writer, configVersion, current);
  if (isFailure(past)) return past;
  const now = (await appsThen(writer, current, current)) as readonly AppState[];
  if (app === undefined) return { now, past };
  const present = now.filter((state) => isNamed(state, app));
  const ids = new Set(present.map(({ tree }) => tree.app.id));
  const same = past.filter(({ tree }) => ids.has(tree.app.id));
  // An app that had this name and was deleted since replaces the present one.
  const restorable = same.length > 0 ? same : past.filter((state) => isNamed(state, app));
  const elsewhere = now.find(({ tree }) => restorable.some((state) => state.tree.app.id === tree.app.id));
  if (same.length === 0 && present.length > 0 && elsewhere !== undefined) {
    const { id, slug } = elsewhere.tree.app;
    const detail = `The app that was "${app}" in config version ${configVersion} is now "${slug}" (${id}), and "${app}" is now another app; name one of them by its id`;
    return fail('conflict', detail);
  }
  if (present.length + restorable.length === 0) {
    return fail('not_found', `There is no app "${app}", neither now nor in config version ${configVersion}`);
  }
  const wanted = new Set([...ids, ...restorable.map(({ tree }) => tree.app.id)]);
  return { now: now.filter(({ tree }) => wanted.has(tree.app.id)), past: restorable };
}

function isNamed({ tree: { app } }: AppState, reference: string): boolean {
  return app.id === reference || app.slug === reference;
}

/** Limit of the keys that a refusal names. */
const ORPHANS_LISTED_MAX = 100;

function orphansFailure({ orphans }: RestoredState, configVersion: number): Failure {
  const errors = orphans.slice(0, ORPHANS_LISTED_MAX).map(({ app, key }) => ({
    pointer: pointerOf({ type: 'key', path: [app.slug, key.name] }),
    detail: `was created after config version ${configVersion}, like its app "${app.slug}"; its clients would be refused`,
  }));
  const apps = [...new Set(orphans.map(({ app }) => `"${app.slug}"`))];
  const named = apps.slice(0, 5).join(', ') + (apps.length > 5 ? ` and ${apps.length - 5} more` : '');
  const detail = `Would delete ${counted(apps.length, 'app')} created after config version ${configVersion}, with ${counted(orphans.length, 'key')} in force: ${named}. Set delete_keys to delete the keys, too`;
  return fail('conflict', detail, errors);
}
