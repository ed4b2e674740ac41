/**
 * Warnings about what an apply or a rollback has changed, asked when all of it is done, so that a revision whose
 * endpoints come with it is not called empty.
 */
import type { App, Revision, Version } from '../../../model/resources.ts';
import type { Warning } from '../../../model/warnings.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
import type { RuleContext } from '../rule-context.ts';
import type { DeclaredChange } from '../../declaration/declared-changes.ts';
import { LEVELS } from '../../declaration/levels.ts';
import { CHANGES_SHOWN_MAX } from '../../declaration/present-changes.ts';
import { pointerOf } from '../../declaration/tree.ts';

/** Limit of the answered warnings: beyond a hundred, they have the same cause. */
const WARNINGS_SHOWN_MAX = 100;

/**
 * @param rules the rule context of the write, inside its transaction
 * @returns the warnings about the listed changes, with pointers into the tree; a warning about a deletion names the
 * record above
 */
export async function changeWarnings(
  changes: readonly DeclaredChange[],
  rules: RuleContext,
): Promise<readonly Warning[]> {
  const scopes = new Scopes(rules.reader);
  const found = new Map<string, Warning>();
  for (const change of changes.slice(0, CHANGES_SHOWN_MAX)) {
    const scope = await scopes.of(change);
    if (scope === undefined) continue;
    const { type, path } = change;
    const pointer = pointerOf(
      change.change === 'delete' ? { type, path: path.slice(0, -1) } : { type, path },
    );
    for (const warning of await warningsOf(change, scope, rules)) {
      const placed = { ...warning, pointer: pointer + warning.pointer };
      found.set(`${placed.code} ${placed.pointer}`, placed);
      if (found.size === WARNINGS_SHOWN_MAX) return [...found.values()];
    }
  }
  return [...found.values()];
}

function warningsOf(
  { change, type, record, before }: DeclaredChange,
  scope: Scope,
  rules: RuleContext,
): Promise<readonly Warning[]> {
  const level = LEVELS[type];
  if (change === 'delete') return level.removalWarnings(rules, scope, record);
  // The rules only ask whether the former record had traffic.
  const previous = before && { ...record, is_current: before['is_current'] === true };
  return level.warnings(rules, scope, record, previous);
}

interface Scope {
  readonly app?: App;
  readonly version?: Version;
  readonly revision?: Revision;
}

/** The records above changed records, each read once. */
class Scopes {
  readonly #reader: ConfigReader;
  readonly #apps = new Map<string, Promise<App | undefined>>();
  readonly #versions = new Map<string, Promise<Version | undefined>>();
  readonly #revisions = new Map<string, Promise<Revision | undefined>>();

  constructor(reader: ConfigReader) {
    this.#reader = reader;
  }

  /** @returns undefined when something above is gone */
  async of({ type, path }: Pick<DeclaredChange, 'type' | 'path'>): Promise<Scope | undefined> {
    const [slug = '', versionLabel = '', revisionLabel = ''] = path;
    if (type === 'app') return {};
    const app = await once(this.#apps, slug, () => this.#reader.findApp(slug));
    if (app === undefined || type === 'version' || type === 'key') return app && { app };
    const version = await once(this.#versions, `${app.id} ${versionLabel}`, () =>
      this.#reader.findVersion(app.id, versionLabel),
    );
    if (version === undefined || type === 'revision') return version && { app, version };
    const revision = await once(this.#revisions, `${version.id} ${revisionLabel}`, () =>
      this.#reader.findRevision(version.id, revisionLabel),
    );
    return revision && { app, version, revision };
  }
}

function once<T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> {
  const found = known.get(key) ?? read();
  known.set(key, found);
  return found;
}
