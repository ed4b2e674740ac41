/** One app of a declared tree beside its stored records, and the rules of a tree that need no transaction. */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { AppTree } from '../../model/config.ts';
import type { FieldError } from '../../model/errors.ts';
import type { App, StoredApiKey } from '../../model/resources.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { matchKeys, matchKeysById, type Item, type LevelName, type MatchedKeys } from './levels.ts';
import { OWNER_LABEL } from './tree.ts';

const PAGE_LIMIT = 500;

export interface DeclaredTree {
  readonly apps?: Readonly<Record<string, Item | null>>;
}

export interface DeclaredApp {
  readonly slug: string;
  /** Pointer to the app in the tree. */
  readonly pointer: string;
  readonly item: Item;
  readonly stored: AppTree | undefined;
  /** Empty when the item does not name `keys`, which then stay unchanged. */
  readonly keys: MatchedKeys;
}

/** The id that a record has because of its place in the tree. */
export type IdOf = (type: LevelName, path: readonly string[]) => string;

export interface LoadOptions {
  /** Becomes a label of the app. */
  readonly owner: string | undefined;
  /** Keys are identified by these ids, and undeclared keys are deleted, even when the item does not name `keys`. */
  readonly idOf: IdOf | undefined;
  readonly nowMs: number;
}

export async function loadDeclaredApp(
  reader: ConfigReader,
  slug: string,
  given: Item | null,
  app: App | undefined,
  { owner, idOf, nowMs }: LoadOptions,
): Promise<DeclaredApp> {
  const item = given ?? {};
  const labels = isObject(item['labels']) ? item['labels'] : {};
  const owned = owner === undefined ? item : { ...item, labels: { ...labels, [OWNER_LABEL]: owner } };
  const pointer = `/apps/${escapeToken(slug)}`;
  if (app === undefined) return { slug, pointer, item: owned, stored: undefined, keys: matchKeys({}, []) };
  const stored = await reader.loadAppTree(app.id);
  const declaredKeys = item['keys'];
  if (idOf !== undefined) {
    const items = isObject(declaredKeys) ? declaredKeys : {};
    const keys = matchKeysById(items, await allKeys(reader, app.id), (label) => idOf('key', [slug, label]));
    return { slug, pointer, item: owned, stored, keys };
  }
  if (!isObject(declaredKeys)) return { slug, pointer, item: owned, stored, keys: matchKeys({}, []) };
  const { declared, undeclared } = matchKeys(declaredKeys, await allKeys(reader, app.id));
  const live = undeclared.filter((key) => isLive(key, nowMs));
  return { slug, pointer, item: owned, stored, keys: { declared, undeclared: live } };
}

export async function allApps(reader: ConfigReader): Promise<Map<string, App>> {
  const apps = new Map<string, App>();
  for await (const app of pages((page) => reader.listApps(page))) apps.set(app.slug, app);
  return apps;
}

/** The keys of an app that have not expired: expired keys are useless and cannot be declared again. */
export async function liveKeys(reader: ConfigReader, appId: string, nowMs: number): Promise<StoredApiKey[]> {
  const keys = await allKeys(reader, appId);
  return keys.filter((key) => isLive(key, nowMs));
}

async function allKeys(reader: ConfigReader, appId: string): Promise<StoredApiKey[]> {
  const keys: StoredApiKey[] = [];
  for await (const key of pages((page) => reader.listKeys(appId, page))) keys.push(key);
  return keys;
}

export function isLive({ expires_at: expiresAt }: StoredApiKey, nowMs: number): boolean {
  return expiresAt === null || Date.parse(expiresAt) > nowMs;
}

type PageOf<T> = (page: { readonly limit: number; readonly after: string | undefined }) => Promise<{
  readonly items: readonly T[];
  readonly nextAfter: string | null;
}>;

async function* pages<T>(read: PageOf<T>): AsyncGenerator<T> {
  let after: string | undefined;
  do {
    const page = await read({ limit: PAGE_LIMIT, after });
    yield* page.items;
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
}

/** An item of a collection; undefined when the tree does not contain it. */
export function member(item: Item, collection: string, label: string): Item | undefined {
  const items = item[collection];
  if (!isObject(items) || !Object.hasOwn(items, label)) return undefined;
  return (items[label] as Item | null) ?? {};
}

export function membersOf(item: Item, collection: string): (readonly [string, Item])[] {
  const items = item[collection];
  if (!isObject(items)) return [];
  return Object.entries(items).map(([label, declared]) => [label, (declared as Item | null) ?? {}] as const);
}

/** Errors for apps that another owner declares; empty when all may be changed. */
export function ownerErrors(apps: readonly DeclaredApp[]): FieldError[] {
  return apps.flatMap(({ pointer, item, stored }) => {
    if (stored === undefined) return [];
    const current = stored.app.labels[OWNER_LABEL];
    const wanted = isObject(item['labels']) ? item['labels'][OWNER_LABEL] : undefined;
    if (current === wanted) return [];
    const whose = current === undefined ? 'has no owner' : `has the owner "${current}"`;
    return [{ pointer, detail: `${whose}; an apply changes it only with adopt (option --adopt)` }];
  });
}

/** Errors for successors: a version must name a version of its own app, or a URI. */
export function successorErrors({ pointer, item }: DeclaredApp): FieldError[] {
  const versions = membersOf(item, 'versions');
  const labels = new Set(versions.map(([label]) => label));
  return versions.flatMap(([label, { successor }]) => {
    if (typeof successor !== 'string' || successor.includes('/') || labels.has(successor)) return [];
    const at = `${pointer}/versions/${escapeToken(label)}/successor`;
    return [
      { pointer: at, detail: `must be another version of the app; the app has no version "${successor}"` },
    ];
  });
}
