/**
 * Finds records of every kind by a text, in the configuration in memory. Works in slices of a few milliseconds, between
 * which the thread does other work, and stops after a bounded number of records. Records that change during the search
 * may be found in their old or in their new form.
 */
import type { RevisionTree, VersionTree } from '../../model/config.ts';
import type { AdminToken, App, Endpoint, Revision, StoredApiKey } from '../../model/resources.ts';
import type { Found } from '../schemas/overview/found-schema.ts';
import { servedVersions, type ServedConfig } from '../served-config.ts';
import { BestMatches } from './best-matches.ts';

/** Limit of records that one search reads. */
const RECORDS_MAX = 1_000_000;
const SLICE_MS = 4;
/** Records between two checks of the time. */
const STEP = 256;

const ORDER = { app: 0, version: 1, revision: 2, endpoint: 3, api_key: 4, admin_token: 5 } as const;

export interface Search {
  readonly text: string;
  readonly limit: number;
  /** Empty for callers who may not see them. */
  readonly adminTokens: readonly AdminToken[];
  /** Milliseconds of a clock that never goes back. */
  readonly nowMs: () => number;
}

export interface SearchOutcome {
  readonly items: readonly Found[];
  readonly total: number;
  readonly complete: boolean;
}

type Candidate = Omit<Found, 'match'>;
type Matches = BestMatches<Candidate>;

export async function findRecords(served: ServedConfig, search: Search): Promise<SearchOutcome> {
  const matches: Matches = new BestMatches(search.text, search.limit);
  const pace = new Pace(search.nowMs);
  const slugs = new Map<string, string>();
  for (const appId of served.appIds()) {
    const app = served.appOf(appId);
    if (app === undefined) continue;
    slugs.set(app.id, app.slug);
    offerApp(matches, app);
    await pace.passed(1);
    for (const tree of servedVersions(served, appId)) await offerVersion(matches, app, tree, pace);
    if (pace.isOver) break;
  }
  await offerKeys(matches, served, slugs, pace);
  for (const token of search.adminTokens) offerAdminToken(matches, token);
  return { items: matches.items, total: matches.total, complete: !pace.isOver };
}

/** Counts records, and lets other work in when a slice is over. */
class Pace {
  readonly #nowMs: () => number;
  #records = 0;
  #sliceEndMs: number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#sliceEndMs = nowMs() + SLICE_MS;
  }

  get isOver(): boolean {
    return this.#records >= RECORDS_MAX;
  }

  async passed(records: number): Promise<void> {
    this.#records += records;
    if (this.#nowMs() < this.#sliceEndMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#sliceEndMs = this.#nowMs() + SLICE_MS;
  }
}

function offerApp(matches: Matches, app: App): void {
  const labels = Object.entries(app.labels).flatMap(([name, value]) => [`${name}:${value}`, value]);
  const texts = [app.slug, app.name, app.gateway_path, app.id, app.description, ...app.hosts, ...labels];
  matches.offer(texts, ORDER.app, () => ({
    kind: 'app',
    id: app.id,
    label: app.slug,
    path: app.slug,
    app_id: app.id,
    version_id: null,
    revision_id: null,
  }));
}

async function offerVersion(
  matches: Matches,
  app: App,
  { version, revisions }: VersionTree,
  pace: Pace,
): Promise<void> {
  const path = `${app.slug} / ${version.version}`;
  const parents = { app_id: app.id, version_id: version.id, revision_id: null };
  const value = { kind: 'version', id: version.id, label: version.version, path, ...parents } as const;
  matches.offer([version.version, version.gateway_path, version.id], ORDER.version, () => value);
  for (const tree of revisions) {
    if (pace.isOver) return;
    await offerRevision(matches, value, tree, pace);
  }
  await pace.passed(1);
}

async function offerRevision(
  matches: Matches,
  above: Candidate,
  { revision, endpoints }: RevisionTree,
  pace: Pace,
): Promise<void> {
  const path = `${above.path} / ${revision.revision}`;
  const parents = { app_id: above.app_id, version_id: above.version_id, revision_id: revision.id };
  const value = { kind: 'revision', id: revision.id, label: revision.revision, path, ...parents } as const;
  const others = revision.targets?.map(({ host }) => host) ?? [];
  const texts = [revision.revision, revision.backend_host, revision.id, ...others, ...sourceOf(revision)];
  matches.offer(texts, ORDER.revision, () => value);
  await pace.passed(1);
  for (let start = 0; start < endpoints.length && !pace.isOver; start += STEP) {
    const end = Math.min(start + STEP, endpoints.length);
    for (let at = start; at < end; at++) offerEndpoint(matches, value, endpoints[at] as Endpoint);
    await pace.passed(end - start);
  }
}

function sourceOf({ discovery }: Revision): string[] {
  if (!discovery) return [];
  return discovery.type === 'dns'
    ? [discovery.host]
    : [discovery.type === 'file' ? discovery.path : discovery.name];
}

function offerEndpoint(matches: Matches, above: Candidate, endpoint: Endpoint): void {
  const label = `${endpoint.method} ${endpoint.path}`;
  matches.offer([label, endpoint.path, endpoint.backend_path, endpoint.id], ORDER.endpoint, () => ({
    ...above,
    kind: 'endpoint',
    id: endpoint.id,
    label,
    path: `${above.path} / ${label}`,
  }));
}

async function offerKeys(
  matches: Matches,
  served: ServedConfig,
  slugs: ReadonlyMap<string, string>,
  pace: Pace,
): Promise<void> {
  // A table that grows meanwhile starts over.
  const seen = new Set<string>();
  for (const slice of served.keys.slices(STEP)) {
    if (pace.isOver) return;
    for (const key of slice) {
      if (!seen.has(key.id)) offerKey(matches, key, slugs.get(key.app_id) ?? key.app_id);
      seen.add(key.id);
    }
    await pace.passed(slice.length);
  }
}

function offerKey(matches: Matches, key: StoredApiKey, slug: string): void {
  matches.offer([key.name, key.token_prefix, key.id], ORDER.api_key, () => ({
    kind: 'api_key',
    id: key.id,
    label: key.name,
    path: `${slug} / ${key.name}`,
    app_id: key.app_id,
    version_id: null,
    revision_id: null,
  }));
}

function offerAdminToken(matches: Matches, token: AdminToken): void {
  matches.offer([token.name, token.token_prefix, token.id], ORDER.admin_token, () => ({
    kind: 'admin_token',
    id: token.id,
    label: token.name,
    path: token.name,
    app_id: null,
    version_id: null,
    revision_id: null,
  }));
}
