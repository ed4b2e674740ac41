/**
 * Compiles the records of one version into what the proxy reads: routes, tries, backends, merged and compiled policies.
 * A version is the unit of compilation. Versions share only their app's compiled form, so the cost of a change depends
 * on what it changes.
 *
 * Policies are compiled once per distinct effective policy: endpoints without their own policy share that of their
 * revision, and revisions without their own share that of their app.
 *
 * Compiles in steps (changes/slices.ts), a few for each endpoint. Throws only CompileError, when the records do not fit
 * together. All results are new objects, so a failure leaves nothing half done. Does not compare versions with each
 * other: holder.ts does.
 */
import { messageOf } from '../lib/error-message.ts';
import type { Steps } from './changes/slices.ts';
import type { App, Endpoint, Revision } from '../model/resources.ts';
import type { RevisionTree, VersionTree } from '../model/config.ts';
import { CompileError } from './compile-error.ts';
import { compileBackend, hasHealthCheck } from './backend.ts';
import { hasParts, mergePolicy } from './merge-policy.ts';
import { backendPathError, parseEndpointPath, parseGatewayPath } from './path-patterns.ts';
import { buildPathTrie, pathTrieSteps } from './path-trie.ts';
import type { PathConflict, PathTrie, PathTrieEntry } from './path-trie.ts';
import type {
  CompiledApp,
  CompiledRevision,
  CompiledRoute,
  CompiledVersion,
  Mutable,
  PolicyCompiler,
  PolicyPair,
} from './types.ts';
import { readInAdvance } from './lookup/lenient-readings.ts';
import { sharedText } from './shared-text.ts';
import { compileTargets } from './targets.ts';
import { REVISIONS_MAX, WeightedChoice } from './weights.ts';

/** The defaults of `circuit_breaker` (docs/reference/policies.md). */
export const BREAKER_DEFAULTS = Object.freeze({
  failures: 5,
  open_secs: 10,
  count_5xx: false,
  recovery_secs: 10,
});

/** An app as its versions need it. Kept from one change to the next; replaced when the app itself changes. */
export interface AppContext<P> {
  readonly record: App;
  readonly compiled: CompiledApp;
  /** The policy of revisions without their own; compiled with the first of them. */
  policy: PolicyPair<P> | undefined;
}

export function createAppContext<P>(app: App): AppContext<P> {
  return {
    record: app,
    compiled: {
      id: app.id,
      slug: app.slug,
      managed: app.routing_mode === 'managed_endpoint',
      allowEncodedSlashes: app.allow_encoded_slashes,
      hosts: app.hosts,
      versionPaths: new Map(),
    },
    policy: undefined,
  };
}

/** @param previous the version's previous form. Its weighted choice continues if revisions and weights are the same. */
export function* compileVersion<P>(
  app: AppContext<P>,
  tree: VersionTree,
  compilePolicy: PolicyCompiler<P>,
  previous?: CompiledVersion<P>,
): Steps<CompiledVersion<P>> {
  const { version: record } = tree;
  const gatewayPath = parseGatewayPath(record.gateway_path);
  if ('error' in gatewayPath)
    throw badPath('gateway_path', record.gateway_path, gatewayPath.error, record.id);
  const current = tree.revisions.filter((each) => each.revision.is_current);
  if (current.length > REVISIONS_MAX) {
    const problem = `${current.length} revisions are current, at most ${REVISIONS_MAX} can be`;
    throw new CompileError(`Cannot compile version ${record.version}: ${problem}`, record.id, 'is_current');
  }
  const revisions: CompiledRevision<P>[] = [];
  // Published when it is complete.
  const version: Mutable<CompiledVersion<P>> = {
    id: record.id,
    label: record.version,
    app: app.compiled,
    gatewayPath: gatewayPath.path === '/' ? '' : gatewayPath.path,
    status: sharedText(record.status),
    announcesEnd: record.status === 'deprecated' || record.deprecated_at !== null,
    deprecatedAtSecs: unixSeconds(record.deprecated_at),
    sunsetAtSecs: unixSeconds(record.sunset_at),
    successor: record.successor ?? undefined,
    unmatched: undefined,
    revisions,
    choice: undefined,
    only: undefined,
    isInUse: false,
  };
  // Storage returns records in no particular order; ids are UUIDv7, which sort by creation.
  current.sort((a, b) => compareTexts(a.revision.id, b.revision.id));
  for (const each of current) {
    revisions.push(yield* compileRevision(app, version, each, revisions.length, compilePolicy));
  }
  version.choice = choiceAmong(revisions, previous);
  if (record.status !== 'retired')
    version.unmatched = unmatchedPolicy(app, current[0]?.revision, revisions[0], compilePolicy);
  return version;
}

/** See CompiledVersion.unmatched. */
function unmatchedPolicy<P>(
  app: AppContext<P>,
  record: Revision | undefined,
  revision: CompiledRevision<P> | undefined,
  compilePolicy: PolicyCompiler<P>,
): P | undefined {
  const hasSay = compilePolicy.marksUnmatched?.(mergePolicy(app.record, record)) ?? false;
  if (!hasSay) return undefined;
  return revision?.fallback?.policy ?? new RevisionPolicy(app, record, compilePolicy).inherited().policy;
}

/** Compiles one revision of a version whose own fields are complete. */
export function* compileRevision<P>(
  app: AppContext<P>,
  version: CompiledVersion<P>,
  tree: RevisionTree,
  index: number,
  compilePolicy: PolicyCompiler<P>,
): Steps<CompiledRevision<P>> {
  const { revision: record, endpoints } = tree;
  const base = new RevisionPolicy(app, record, compilePolicy);
  const revision: Mutable<CompiledRevision<P>> = {
    id: record.id,
    label: record.revision,
    backend: compileBackend(record),
    targets: compileTargets(record),
    stripGatewayPath: record.strip_gateway_path,
    preserveHost: record.preserve_host,
    weight: record.traffic_weight,
    hasHealthCheck: hasHealthCheck(record),
    breaker: compileBreaker(record),
    index,
    endpoints: NO_ENDPOINTS,
    inherited: undefined,
    fallback: undefined,
    breakerSlot: undefined,
    targetsSlot: undefined,
  };
  if (!app.compiled.managed) revision.fallback = createFallback(version, revision, base.inherited());
  if (endpoints.length > 0) {
    const entries: PathTrieEntry<CompiledRoute<P>>[] = [];
    for (const endpoint of endpoints) {
      entries.push(compileEndpoint(version, revision, endpoint, base));
      yield;
    }
    revision.endpoints = yield* buildTrie(entries, record);
    yield* readInAdvance(revision.endpoints, revision.fallback);
  }
  revision.inherited = base.known;
  yield;
  return revision;
}

/** The rules of a revision's breaker with defaults. The proxy does not use its health checks. */
export function compileBreaker({
  circuit_breaker: settings,
}: Revision): CompiledRevision<unknown>['breaker'] {
  if (settings === null) return BREAKER_DEFAULTS;
  const { probe: _probe, ...rules } = settings;
  return { ...BREAKER_DEFAULTS, ...rules };
}

/** Shared: most revisions of pass-through apps have no endpoints. */
const NO_ENDPOINTS = buildPathTrie<never>([]) as PathTrie<never>;

/**
 * The policies of a revision, or of an app without revisions: the policy that most routes share, and those of endpoints
 * with their own.
 */
export class RevisionPolicy<P> {
  readonly #app: AppContext<P>;
  readonly #record: Revision | undefined;
  readonly #compile: PolicyCompiler<P>;
  #inherited: PolicyPair<P> | undefined;

  /** @param inherited the shared policy, if it is already compiled */
  constructor(
    app: AppContext<P>,
    record: Revision | undefined,
    compile: PolicyCompiler<P>,
    inherited?: PolicyPair<P>,
  ) {
    this.#app = app;
    this.#record = record;
    this.#compile = compile;
    this.#inherited = inherited;
  }

  /** The shared policy, if it is already compiled. */
  get known(): PolicyPair<P> | undefined {
    return this.#inherited;
  }

  /** The policy of the fallback and of endpoints that override nothing. */
  inherited(): PolicyPair<P> {
    if (this.#inherited === undefined) {
      if (hasParts(this.#record?.default_policy)) this.#inherited = this.#pair(undefined);
      else this.#inherited = this.#app.policy ??= this.#pair(undefined);
    }
    return this.#inherited;
  }

  of(endpoint: Endpoint): PolicyPair<P> {
    return hasParts(endpoint.policy_override) ? this.#pair(endpoint) : this.inherited();
  }

  #pair(endpoint: Endpoint | undefined): PolicyPair<P> {
    const app = this.#app.record;
    const revision = this.#record;
    const effective = mergePolicy(app, revision, endpoint);
    try {
      return { effective, policy: this.#compile(effective, app) };
    } catch (error) {
      let owner = revision === undefined ? `app ${app.slug}` : `revision ${revision.revision}`;
      if (endpoint !== undefined) owner = `endpoint ${endpoint.method} ${endpoint.path}`;
      const reason = messageOf(error);
      const id = (endpoint ?? revision ?? app).id;
      const field = endpoint === undefined ? 'default_policy' : 'policy_override';
      throw new CompileError(`Cannot compile the policy of ${owner}: ${reason}`, id, field, { cause: error });
    }
  }
}

function createFallback<P>(
  version: CompiledVersion<P>,
  revision: CompiledRevision<P>,
  pair: PolicyPair<P>,
): CompiledRoute<P> {
  return {
    version,
    revision,
    endpointId: undefined,
    active: true,
    isLiteral: false,
    method: '*',
    template: `${version.gatewayPath}/*`,
    backendPath: undefined,
    backendParts: undefined,
    effective: pair.effective,
    policy: pair.policy,
    isInUse: false,
    report: undefined,
  };
}

export function compileEndpoint<P>(
  version: CompiledVersion<P>,
  revision: CompiledRevision<P>,
  record: Endpoint,
  base: RevisionPolicy<P>,
): PathTrieEntry<CompiledRoute<P>> {
  const pattern = parseEndpointPath(record.path);
  if ('error' in pattern) throw badPath('path', record.path, pattern.error, record.id);
  const { segments } = pattern;
  if (record.backend_path !== null) {
    const error = backendPathError(record.backend_path, pattern);
    if (error !== undefined) throw badPath('backend_path', record.backend_path, error, record.id);
  }
  const pair = base.of(record);
  const route: CompiledRoute<P> = {
    version,
    revision,
    endpointId: record.id,
    active: record.is_active,
    isLiteral: pattern.names.length === 0 && segments.at(-1) !== '*',
    method: sharedText(record.method),
    template: version.gatewayPath + record.path,
    backendPath: record.backend_path ?? undefined,
    backendParts: backendParts(record.backend_path ?? '', segments),
    effective: pair.effective,
    policy: pair.policy,
    isInUse: false,
    report: undefined,
  };
  return { segments, value: route };
}

/** See CompiledRoute.backendParts. */
function backendParts(
  backendPath: string,
  segments: readonly string[],
): readonly (string | number)[] | undefined {
  const parts: (string | number)[] = [];
  let position = 0;
  for (const { 0: parameter, index } of backendPath.matchAll(/\{[^{}]*\}/g)) {
    parts.push(backendPath.slice(position, index), segments.indexOf(parameter));
    position = index + parameter.length;
  }
  if (backendPath.endsWith('/*')) parts.push(backendPath.slice(position, -1), -segments.length);
  else if (parts.length > 0) parts.push(backendPath.slice(position));
  return parts.length === 0 ? undefined : parts;
}

function* buildTrie<P>(
  entries: PathTrieEntry<CompiledRoute<P>>[],
  record: Revision,
): Steps<PathTrie<CompiledRoute<P>>> {
  const trie = yield* pathTrieSteps(entries);
  if ('first' in trie) throw sameRequests(trie, record);
  return trie;
}

export function sameRequests<P>(
  { first, second }: PathConflict<CompiledRoute<P>>,
  record: Revision,
): CompileError {
  return new CompileError(
    `Cannot compile revision ${record.revision}: endpoints ${first.method} ${first.template} and ` +
      `${second.method} ${second.template} match the same requests`,
    second.endpointId ?? record.id,
    'path',
  );
}

function choiceAmong<P>(
  revisions: readonly CompiledRevision<P>[],
  previous: CompiledVersion<P> | undefined,
): WeightedChoice | undefined {
  if (revisions.filter((revision) => revision.weight > 0).length < 2) return undefined;
  const before = previous?.revisions;
  const same =
    before?.length === revisions.length &&
    revisions.every(({ id, weight }, index) => before[index]?.id === id && before[index].weight === weight);
  return (same ? previous?.choice : undefined) ?? new WeightedChoice(revisions.map(({ weight }) => weight));
}

function badPath(field: string, path: string, error: string, id: string): CompileError {
  return new CompileError(`Cannot parse ${field} "${path}": ${error}`, id, field);
}

/** Seconds of an RFC 3339 time, rounded down. */
function unixSeconds(time: string | null): number | undefined {
  return time === null ? undefined : Math.floor(Date.parse(time) / 1000);
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
