/**
 * The tree of everything: apps, their versions with revisions, and endpoints, each list read as far as it is
 * visible. Owns the loaded data, and notifies listeners of changes; the set of open nodes comes from outside.
 */
import { call } from '../../../api/call.ts';
import type { App, Endpoint, TreeRevision, TreeVersion } from '../../../api/schema.ts';
import type { ResourcePath } from '../resource-path.ts';
import { PagedList, type FetchPage, type ListPage } from './paged-list.ts';
import { RowsBuilder, type Rows } from './tree-layout.ts';

const PAGE = 100;
const ENDPOINT_PAGE = 500;
/** Rows read ahead of the visible ones. */
const AHEAD = 100;

interface Place {
  /** Labels joined by `/`: unique, and what the address of the page has for open nodes. */
  readonly key: string;
  /** Depth from 0. */
  readonly depth: number;
  /** Position from 1, and the number of siblings. */
  readonly position: number;
  readonly siblings: number;
  readonly list?: PagedList<unknown> | undefined;
}

export type TreeRow = Place &
  (
    | { readonly kind: 'app'; readonly isOpen: boolean; readonly app: App; readonly path: ResourcePath }
    | {
        readonly kind: 'version';
        readonly isOpen: boolean;
        readonly version: TreeVersion;
        readonly path: ResourcePath;
      }
    | {
        readonly kind: 'revision';
        readonly isOpen: boolean;
        readonly revision: TreeRevision;
        readonly path: ResourcePath;
      }
    | {
        readonly kind: 'endpoint';
        readonly endpoint: Endpoint;
        readonly path: ResourcePath;
        /** The route in the form of the traffic figures. */
        readonly route: string;
      }
    | { readonly kind: 'waiting' }
    | { readonly kind: 'empty'; readonly below: 'app' | 'version' | 'revision' }
    | { readonly kind: 'more'; readonly count: number; readonly path: ResourcePath }
  );

export class TreeStore {
  readonly #listeners = new Set<() => void>();
  #apps: PagedList<App>;
  #versions = new Map<string, PagedList<TreeVersion>>();
  #endpoints = new Map<string, PagedList<Endpoint>>();
  #edition = 0;

  constructor() {
    this.#apps = this.#appList();
  }

  /** For useSyncExternalStore. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Grows with every change. */
  readonly edition = (): number => this.#edition;

  get isEmpty(): boolean {
    return this.#apps.isComplete && this.#apps.total === 0;
  }

  /** The first problem of a list, if one could not be read on. */
  get error(): Error | undefined {
    return this.#lists().find(({ error }) => error !== undefined)?.error;
  }

  retry(): void {
    for (const list of this.#lists()) if (list.error !== undefined) list.retry();
    this.#announce();
  }

  /** Drops everything; visible rows are read again. */
  reload(): void {
    this.#apps = this.#appList();
    this.#versions = new Map();
    this.#endpoints = new Map();
    this.#announce();
  }

  /** @param open keys of open nodes */
  rows(open: ReadonlySet<string>): Rows<TreeRow> {
    const builder = new RowsBuilder<TreeRow>();
    const { items, total } = this.#apps;
    for (const [index, app] of items.entries()) {
      const isOpen = open.has(app.slug);
      const place = { key: app.slug, depth: 0, position: index + 1, siblings: total, list: this.#apps };
      builder.row({ kind: 'app', ...place, isOpen, app, path: { app: app.slug } });
      if (isOpen) this.#addVersions(builder, app.slug, open);
    }
    addWaiting(builder, '', 0, this.#apps);
    return builder.build();
  }

  /** Reads what is shown from the row `first` to `last`, and stops reading elsewhere. */
  lookAt(rows: Rows<TreeRow>, first: number, last: number): void {
    const wanted = new Map<PagedList<unknown>, readonly [from: number, to: number]>();
    for (let index = first; index <= last; index++) {
      const row = rows.at(index);
      if (row?.list === undefined) continue;
      const [from, to] = wanted.get(row.list) ?? [Infinity, -1];
      const place = row.position - 1;
      wanted.set(row.list, [Math.min(from, place - AHEAD), Math.max(to, place + AHEAD)]);
    }
    for (const list of this.#lists()) {
      const [from, to] = wanted.get(list) ?? [0, -1];
      list.ensure(to, from);
    }
  }

  #addVersions(builder: RowsBuilder<TreeRow>, slug: string, open: ReadonlySet<string>): void {
    const list = this.#versionsOf(slug);
    for (const [index, version] of list.items.entries()) {
      const path = { app: slug, version: version.version };
      const key = `${slug}/${version.version}`;
      const isOpen = open.has(key);
      const place = { key, depth: 1, position: index + 1, siblings: list.total, list };
      builder.row({ kind: 'version', ...place, isOpen, version, path });
      if (isOpen) this.#addRevisions(builder, path, version, open);
    }
    addWaiting(builder, slug, 1, list);
    if (list.isComplete && list.total === 0) builder.row(emptyRow(slug, 1, 'app'));
  }

  #addRevisions(
    builder: RowsBuilder<TreeRow>,
    path: ResourcePath,
    version: TreeVersion,
    open: ReadonlySet<string>,
  ): void {
    const above = `${path.app}/${version.version}`;
    const siblings = version.revisions.length;
    for (const [index, revision] of version.revisions.entries()) {
      const key = `${above}/${revision.revision}`;
      const isOpen = open.has(key);
      const own = { ...path, revision: revision.revision };
      const place = { key, depth: 2, position: index + 1, siblings };
      builder.row({ kind: 'revision', ...place, isOpen, revision, path: own });
      if (isOpen) this.#addEndpoints(builder, own, revision, version);
    }
    const more = version.revisions_total - siblings;
    const place = { key: `${above}/#more`, depth: 2, position: siblings + 1, siblings: siblings + 1 };
    if (more > 0) builder.row({ kind: 'more', ...place, count: more, path });
    if (siblings === 0) builder.row(emptyRow(above, 2, 'version'));
  }

  #addEndpoints(
    builder: RowsBuilder<TreeRow>,
    path: ResourcePath,
    revision: TreeRevision,
    version: TreeVersion,
  ): void {
    const above = `${path.app}/${version.version}/${revision.revision}`;
    const list = this.#endpointsOf(above, path, revision);
    const rowAt = (index: number): TreeRow => {
      const endpoint = list.at(index) as Endpoint;
      const place = { key: `${above}/${endpoint.id}`, depth: 3, position: index + 1, siblings: list.total };
      const route = `${version.id} ${endpoint.method} ${version.gateway_path}${endpoint.path}`;
      return { kind: 'endpoint', ...place, list, endpoint, route, path: { ...path, endpoint: endpoint.id } };
    };
    builder.run(list.items.length, rowAt);
    addWaiting(builder, above, 3, list);
    const tailStart = list.total - list.tailLength;
    builder.run(list.tailLength, (index) => rowAt(tailStart + index));
    if (list.isComplete && list.total === 0) builder.row(emptyRow(above, 3, 'revision'));
  }

  #appList(): PagedList<App> {
    return this.#list(0, async (cursor) => {
      const { body } = await call('GET /apps', { query: { limit: PAGE, cursor } });
      return pageOf(body);
    });
  }

  #versionsOf(slug: string): PagedList<TreeVersion> {
    return kept(this.#versions, slug, () =>
      this.#list(1, async (cursor) => {
        const path = { app_id: slug };
        return pageOf((await call('GET /apps/{app_id}/tree', { path, query: { limit: PAGE, cursor } })).body);
      }),
    );
  }

  #endpointsOf(key: string, where: ResourcePath, { endpoints }: TreeRevision): PagedList<Endpoint> {
    const { app, version = '', revision = '' } = where;
    const path = { app_id: app, version_id: version, revision_id: revision };
    return kept(this.#endpoints, key, () =>
      this.#list(
        endpoints,
        async (cursor, fromEnd) => {
          const query = { limit: ENDPOINT_PAGE, cursor, order: orderOf(fromEnd) };
          const { body } = await call(
            'GET /apps/{app_id}/versions/{version_id}/revisions/{revision_id}/endpoints',
            { path, query },
          );
          return pageOf(body);
        },
        true,
      ),
    );
  }

  #list<T>(total: number, fetchPage: FetchPage<T>, readsFromEnd = false): PagedList<T> {
    const announce = (): void => {
      if (this.#lists().includes(list)) this.#announce();
    };
    const list: PagedList<T> = new PagedList(fetchPage, total, announce, readsFromEnd);
    return list;
  }

  #lists(): PagedList<unknown>[] {
    return [this.#apps, ...this.#versions.values(), ...this.#endpoints.values()];
  }

  #announce(): void {
    this.#edition += 1;
    for (const listener of this.#listeners) listener();
  }
}

/** Placeholder rows for data that is not loaded yet, so that the length of the tree does not jump. */
function addWaiting<T>(
  builder: RowsBuilder<TreeRow>,
  above: string,
  depth: number,
  list: PagedList<T>,
): void {
  if (list.isComplete) return;
  const read = list.items.length;
  builder.run(Math.max(1, list.total - read - list.tailLength), (index) => ({
    kind: 'waiting',
    key: `${above}/#${read + index}`,
    depth,
    position: read + index + 1,
    siblings: Math.max(list.total, read + 1),
    list: list,
  }));
}

const emptyRow = (above: string, depth: number, below: 'app' | 'version' | 'revision'): TreeRow => ({
  kind: 'empty',
  key: `${above}/#empty`,
  depth,
  position: 1,
  siblings: 1,
  below,
});

function kept<T>(lists: Map<string, T>, key: string, make: () => T): T {
  let list = lists.get(key);
  if (list === undefined) lists.set(key, (list = make()));
  return list;
}

/** The `order` of a list; undefined: the default. */
export function orderOf(fromEnd: boolean): 'newest_first' | undefined {
  return fromEnd ? 'newest_first' : undefined;
}

interface ListBody<T> {
  readonly data: readonly T[];
  readonly page: { readonly next_cursor: string | null; readonly total: number };
}

export function pageOf<T>({ data, page }: ListBody<T>): ListPage<T> {
  return { items: data, next: page.next_cursor ?? undefined, total: page.total };
}
