/**
 * Changes the configuration to a declared tree inside one transaction. Deletes first; then moves every record that
 * loses its path out of the way, so that records can swap or take over paths and key values; then creates and changes
 * records from the top down. Everything uses the resources' own rules. Apps that the tree does not contain stay, unless
 * they have its owner.
 *
 * A plan is the same work, rolled back by the caller.
 */
import { isDeepStrictEqual } from 'node:util';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { App } from '../../model/resources.ts';
import type { ConfigWriter } from '../../storage/repository.ts';
import { parseHostEntry } from '../../http/fields/host-name.ts';
import { fail, invalid, isFailure, type Failure } from '../api/failure.ts';
import type { RuleContext } from '../write/rule-context.ts';
import { defaultGatewayPath } from '../write/rules/gateway-path.ts';
import { DeclaredChanges } from './declared-changes.ts';
import {
  allApps,
  loadDeclaredApp,
  member,
  membersOf,
  ownerErrors,
  successorErrors,
  type DeclaredApp,
  type DeclaredTree,
  type IdOf,
} from './declared-app.ts';
import { deleteApps, deleteBelow } from './delete-undeclared.ts';
import { LEVELS, type Item } from './levels.ts';
import { store, type Apply } from './store-record.ts';
import { storeVersions } from './store-versions.ts';
import { declaredTokenHash } from '../routes/resources/tokens.ts';
import { OWNER_LABEL } from './tree.ts';
import { counted } from '../../lib/text/counted.ts';

/** The number of deletions that an apply may make by default. */
export const DELETES_MAX_DEFAULT = 10;

export interface ApplyOptions {
  /** Only apps of this owner are touched. The tree must contain all of them: others are deleted. */
  readonly owner: string | undefined;
  /** Takes over apps that have another owner or no owner. */
  readonly adopt: boolean;
  /** Without an owner: deletes apps without an owner that the tree does not contain. */
  readonly prune: boolean;
  readonly deletesMax: number;
  /**
   * The tree is the whole configuration, and the id of each record follows from its place in it: everything
   * else is deleted, including apps of other owners and keys.
   */
  readonly whole?: { readonly idOf: IdOf };
  /** Only for a plan: stored secrets are not compared with declared ones. */
  readonly isBlind?: boolean;
}

/** @returns a failure with pointers into the tree; the caller then rolls back */
export async function applyTree(
  writer: ConfigWriter,
  rules: RuleContext,
  tree: DeclaredTree,
  options: ApplyOptions,
): Promise<DeclaredChanges | Failure> {
  const { owner, adopt, prune, deletesMax, whole, isBlind = false } = options;
  const log = new DeclaredChanges();
  const declared = tree.apps ?? {};
  const known = await allApps(writer);
  const nowMs = rules.clock.nowMs();
  const apps: DeclaredApp[] = [];
  for (const [slug, item] of Object.entries(declared)) {
    const loading = { owner, idOf: whole?.idOf, nowMs };
    apps.push(await loadDeclaredApp(writer, slug, item, known.get(slug), loading));
  }
  const foreign = adopt ? [] : ownerErrors(apps);
  if (foreign.length > 0) return { ...invalid(foreign), failure: 'conflict' };
  const dangling = apps.flatMap(successorErrors);
  if (dangling.length > 0) return invalid(dangling);

  if (whole !== undefined) await deleteApps(writer, log, known, declared, () => true);
  else if (owner !== undefined || prune) {
    await deleteApps(writer, log, known, declared, ({ labels }) => labels[OWNER_LABEL] === owner);
  }
  for (const app of apps) await deleteBelow(writer, log, app);
  const tooMany = deletesFailure(log, deletesMax);
  if (tooMany !== undefined) return tooMany;
  for (const app of apps) await moveAside(writer, app);
  for (const app of apps) {
    const failure = await storeApp({ writer, rules, log, idOf: whole?.idOf, isBlind }, app);
    if (failure !== undefined) return failure;
  }
  return log;
}

function deletesFailure({ changes }: DeclaredChanges, deletesMax: number): Failure | undefined {
  const total = changes.reduce((sum, { below }) => sum + 1 + below, 0);
  const [first] = changes;
  if (total <= deletesMax || first === undefined) return undefined;
  const example = `the ${first.type} ${first.path.join(' ')}`;
  return fail(
    'conflict',
    `Would delete ${counted(total, 'record')}, first ${example}; max_deletes allows ${deletesMax}`,
  );
}

/** A path that no other record has, until the record gets its own. */
const asidePath = (id: string): string => `/.moving/${id}`;

async function moveAside(writer: ConfigWriter, app: DeclaredApp): Promise<void> {
  await movePathsAside(writer, app);
  for (const [label, item] of membersOf(app.item, 'keys')) {
    const key = app.keys.declared.get(label);
    const wanted = declaredTokenHash(item);
    if (key === undefined || wanted === undefined || wanted === key.token_hash) continue;
    await writer.updateKey({ ...key, token_hash: asideHash(key.id), previous_token_hash: null });
  }
}

/** A hash that no value has, until the key gets its own. */
const asideHash = (id: string): string => `moving:${id}`;

/** The hosts that a declared app will have, as far as they can be read; the rules of the app report errors in them. */
function hostsOf(item: Item): readonly string[] {
  const hosts = item['hosts'];
  if (!Array.isArray(hosts)) return [];
  return hosts.map((host) => {
    const parsed = typeof host === 'string' ? parseHostEntry(host) : undefined;
    return parsed !== undefined && 'entry' in parsed ? parsed.entry : String(host);
  });
}

async function movePathsAside(writer: ConfigWriter, { item, stored }: DeclaredApp): Promise<void> {
  const path = item['gateway_path'];
  if (stored === undefined || typeof path !== 'string') return;
  const { app, versions } = stored;
  const hosts = hostsOf(item);
  const keepsHosts = isDeepStrictEqual(hosts, app.hosts);
  if (path !== app.gateway_path || !keepsHosts) {
    const gatewayPath = path === app.gateway_path ? path : asidePath(app.id);
    await writer.updateApp({ ...app, gateway_path: gatewayPath, ...(!keepsHosts && { hosts: [app.id] }) });
  }
  for (const { version } of versions) {
    const declared = member(item, 'versions', version.version);
    if (declared === undefined) continue;
    const wanted = declared['gateway_path'] ?? defaultGatewayPath({ gateway_path: path }, version.version);
    if (wanted === version.gateway_path) continue;
    // A version that gets its own path no longer follows its app.
    const follows = version.gateway_path_is_default && declared['gateway_path'] === undefined;
    const moved = { ...version, gateway_path: asidePath(version.id), gateway_path_is_default: follows };
    await writer.updateVersion(moved);
  }
}

async function storeApp(apply: Apply, app: DeclaredApp): Promise<Failure | undefined> {
  const { slug, pointer, item, stored, keys } = app;
  const record = await store(apply, {
    app,
    level: LEVELS.app,
    scope: {},
    path: [slug],
    pointer,
    item,
    previous: stored?.app,
    place: {},
  });
  if (isFailure(record)) return record;
  const scope = { app: record as App };
  const failure = await storeVersions(apply, app, scope);
  if (failure !== undefined) return failure;
  for (const [label, keyItem] of membersOf(item, 'keys')) {
    const key = await store(apply, {
      app,
      level: LEVELS.key,
      scope,
      path: [slug, label],
      pointer: `${pointer}/keys/${escapeToken(label)}`,
      item: keyItem,
      previous: keys.declared.get(label),
      place: { appId: record.id },
    });
    if (isFailure(key)) return key;
  }
  return undefined;
}
