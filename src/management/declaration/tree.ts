/**
 * The declared tree of a configuration: the content of files and dumps. Apps by slug, below them versions, revisions
 * and endpoints, each by its natural label; no ids, no defaults, secrets as handles.
 */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { AppTree } from '../../model/config.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import { maskRecord, MASK } from '../write/policy-secrets-view.ts';
import { compare, labelKeys, LEVELS, type Item, type LevelName } from './levels.ts';

/** The label of an app that names the files that declare it. */
export const OWNER_LABEL = 'owner';

export interface StoredApp {
  readonly tree: AppTree;
  /** Without expired keys: they are useless, and could not be declared again. */
  readonly keys: readonly StoredApiKey[];
}

/**
 * Apps and everything below them, each collection sorted by label, so that equal states give equal trees.
 * @param owner owner of all of them, which is then not written as their label
 */
export function treeOf(declared: readonly StoredApp[], owner?: string): Item {
  const ordered = [...declared].sort((a, b) => compare(a.tree.app.slug, b.tree.app.slug));
  const items = ordered.map(({ tree, keys }) => {
    const item = appItem(tree, keys);
    return [tree.app.slug, owner === undefined ? item : withoutOwner(item)] as const;
  });
  return { ...(owner !== undefined && { owner }), apps: Object.fromEntries(items) };
}

function withoutOwner({ labels, ...item }: Item): Item {
  const { [OWNER_LABEL]: _owner, ...others } = labels as Item;
  return Object.keys(others).length === 0 ? item : { ...item, labels: others };
}

function appItem({ app, versions }: AppTree, keys: readonly StoredApiKey[]): Item {
  const base = `/apps/${app.slug}`;
  const keyItems = sorted(
    [...labelKeys(keys)].map(([label, key]) => [label, LEVELS.key.itemOf(key, label)] as const),
  );
  const versionItems = versions.map(({ version, revisions }) => {
    const at = `${base}/versions/${version.version}`;
    const revisionItems = revisions.map(({ revision, endpoints }) => {
      const below = `${at}/revisions/${revision.revision}`;
      const endpointItems = endpoints.map((endpoint) => {
        const label = LEVELS.endpoint.labelOf(endpoint);
        return [
          label,
          withHandles(LEVELS.endpoint.itemOf(endpoint, label), `${below}/endpoints/${escapeToken(label)}`),
        ] as const;
      });
      const item = withHandles(LEVELS.revision.itemOf(revision, revision.revision), below);
      return [revision.revision, { ...item, ...collection('endpoints', sorted(endpointItems)) }] as const;
    });
    const item = LEVELS.version.itemOf(version, version.version);
    return [version.version, { ...item, ...collection('revisions', sorted(revisionItems)) }] as const;
  });
  return {
    ...withHandles(LEVELS.app.itemOf(app, app.slug), base),
    ...collection('versions', sorted(versionItems)),
    ...collection('keys', keyItems),
  };
}

function collection(name: string, items: readonly (readonly [string, Item])[]): Item {
  return items.length === 0 ? {} : { [name]: Object.fromEntries(items) };
}

function sorted<T>(entries: readonly (readonly [string, T])[]): readonly (readonly [string, T])[] {
  return [...entries].sort(([a], [b]) => compare(a, b));
}

/** A copy in which each secret is `${sealed:<pointer>}`, where the pointer is its place in the tree. */
function withHandles(item: Item, pointer: string): Item {
  return replaceMasks(maskRecord(item), pointer) as Item;
}

function replaceMasks(value: unknown, pointer: string): unknown {
  if (value === MASK) return `\${sealed:${pointer}}`;
  if (Array.isArray(value)) return value.map((member, index) => replaceMasks(member, `${pointer}/${index}`));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      replaceMasks(member, `${pointer}/${escapeToken(name)}`),
    ]),
  );
}

/** Pointer to a record in a declared tree. */
export function pointerOf({
  type,
  path,
}: {
  readonly type: LevelName;
  readonly path: readonly string[];
}): string {
  const collections = type === 'key' ? ['apps', 'keys'] : ['apps', 'versions', 'revisions', 'endpoints'];
  return path.map((label, index) => `/${collections[index] ?? ''}/${escapeToken(label)}`).join('');
}
