/**
 * The program of a thread that tries configurations that are not in force: it replays recorded requests on a planned
 * one, and explains a described request on an earlier one. It has the policies and the engine of a proxy worker
 * (worker.ts), but listens nowhere, sends nothing to backends, and only looks at counters. Lives for one task of the
 * main thread (control/trial/trial-thread.ts).
 */
import { parentPort, workerData } from 'node:worker_threads';
import { peerList } from './egress/blocks.ts';
import { Egress } from './egress/egress.ts';
import { askSystem } from './egress/name-queries.ts';
import { OwnListeners } from './egress/own-listeners.ts';
import { viaHops } from './http/fields/forwarded.ts';
import { httpDate, systemClock } from './lib/clock.ts';
import { requestIds } from './lib/ids.ts';
import { messageOf } from './lib/error-message.ts';
import { policySettings } from './control/workers/policy-settings.ts';
import { requireVersion } from './control/threads/program-version.ts';
import { SharedConcurrencyStore } from './limits/concurrency.ts';
import { SharedMemoryLimitStore } from './limits/local/local-store.ts';
import type { ConfigChange } from './model/config.ts';
import { KeyTable } from './keys/key-table.ts';
import { SnapshotHolder } from './config/holder.ts';
import { createPolicyCompilers, type PolicyCompilers } from './policy/compile-policy.ts';
import type { KeyDirectory, PolicyDependencies } from './policy/dependencies.ts';
import { readOnlyDependencies, type CounterReads } from './policy/trial/read-only-context.ts';
import { replayParts } from './policy/trial/replay-parts.ts';
import type { CompiledPolicy } from './policy/stage.ts';
import { Deadlines } from './proxy/resilience/deadlines.ts';
import { RetryBudgets } from './proxy/resilience/retry-budget.ts';
import { ExchangeLimiter } from './proxy/exchange-limiter.ts';
import { RequestMemory } from './proxy/io/request-memory.ts';
import type { ProxyContext } from './proxy/interfaces/proxy-context.ts';
import { IncompleteHeads } from './proxy/downstream/incomplete-heads.ts';
import { WaitingClients } from './proxy/downstream/waiting-clients.ts';
import { createMatchResult } from './proxy/match.ts';
import { UPSTREAM_AGE_MAX_MS, type ProxyOptions } from './proxy/options.ts';
import { UpstreamPermits } from './proxy/upstream/pool/permits.ts';
import { ClientCertificates } from './proxy/upstream/tls/backend-tls.ts';
import { UpstreamPool } from './proxy/upstream/pool/pool.ts';
import { createLookup } from './proxy/upstream/resolver.ts';
import { TargetRegistry } from './proxy/targets/target-registry.ts';
import { createExplain } from './explain/explain.ts';
import { fixLookups } from './explain/fix.ts';
import type { TriedExplanation, TriedRequest } from './explain/explain-access.ts';
import { withoutCredentials } from './explain/redact.ts';
import { QUIET_OBSERVER } from './explain/replay/quiet-observer.ts';
import { recordedInput, withoutPlaceholders } from './explain/replay/recorded-input.ts';
import { recordedTls, RecordedCallers } from './explain/replay/recorded-callers.ts';
import { readRequest } from './explain/traffic/traffic-record.ts';
import { replay, type ReplayJob, type ReplayResult } from './explain/replay/replay.ts';
import { createRunner } from './explain/replay/request-runner.ts';
import type { TrustDirectory } from './x509/trust-store.ts';
import type { TrialAnswer, TrialQuestion } from './explain/replay/replay-messages.ts';
import type { TrialStart } from './control/trial/trial-thread.ts';

const port = parentPort;
if (port === null) throw new Error('replay-worker.ts runs as a worker thread only');
const { version, settings, limitMemory, ownPorts, viaName, isSecure, owner } = workerData as TrialStart;
requireVersion(import.meta.url, version);
const clock = systemClock;
const egress = new Egress(settings.egress, new OwnListeners(ownPorts, clock));
const nothing = (): void => undefined;
// Only once in a thread: each store takes one of the columns that the memory has for threads.
const limits = new SharedMemoryLimitStore(limitMemory, owner);
const concurrency = new SharedConcurrencyStore(limitMemory.concurrency, limitMemory.hashKey, owner);

port.on('message', (question: TrialQuestion) => {
  void answerTo(question)
    .catch((error: unknown): TrialAnswer => {
      return { type: 'failed', message: messageOf(error) };
    })
    .then((answer) => port.postMessage(answer));
});

async function answerTo(question: TrialQuestion): Promise<TrialAnswer> {
  if (question.type === 'replay') return { type: 'replayed', result: await replayed(question.job) };
  return { type: 'explained', tried: await explained(question.config, question.request) };
}

function replayed(job: ReplayJob): Promise<ReplayResult> {
  const callers = new RecordedCallers();
  const reads: CounterReads = { limits: [], caps: [] };
  const dependencies = readOnlyDependencies(dependenciesWith(callers, callers.trust), reads);
  const { compile } = createPolicyCompilers(dependencies, replayParts(callers));
  const holder = new SnapshotHolder<CompiledPolicy>(compile);
  const run = createRunner(contextOf(holder), callers, isSecure);
  return replay(job, {
    run: (request) => {
      reads.limits.length = 0;
      reads.caps.length = 0;
      return run(request);
    },
    callers,
    clock,
    apply: (change) => holder.apply(change),
  });
}

let explaining: { readonly compilers: PolicyCompilers; readonly keys: KeyTable } | undefined;

async function explained(config: ConfigChange, request: TriedRequest): Promise<TriedExplanation> {
  if ('recorded' in request) return explainedRecorded(config, request.recorded);
  // Key sets that were fetched for one configuration are reused for the next.
  explaining ??= ((keys) => ({
    keys,
    compilers: createPolicyCompilers(dependenciesWith(keys, UNKNOWN_TRUST)),
  }))(new KeyTable());
  const { compilers, keys } = explaining;
  const holder = new SnapshotHolder<CompiledPolicy>(compilers.compile, keys);
  holder.apply(config);
  const context = contextOf(holder);
  const explain = createExplain({
    context,
    compilers,
    settings: dependenciesWith(keys, UNKNOWN_TRUST),
    lookups: fixLookups(() => holder.current),
    isSecure,
    hasPlainPort: settings.proxy.tlsPort !== undefined,
  });
  isCertificateGuessed = false;
  return { explanation: await explain(request), isGuessed: isCertificateGuessed };
}

let recordedCallers: RecordedCallers | undefined;

/** Explains a recorded request with the identity of its credentials, as a replay does. */
async function explainedRecorded(config: ConfigChange, request: string): Promise<TriedExplanation> {
  const callers = (recordedCallers ??= new RecordedCallers());
  const keys = new Map(config.keys.map((key) => [key.id, key]));
  callers.askPlanned((id) => keys.get(id));
  const dependencies = dependenciesWith(callers, callers.trust);
  const compilers = createPolicyCompilers(dependencies, replayParts(callers));
  const holder = new SnapshotHolder<CompiledPolicy>(compilers.compile);
  holder.apply({ ...config, keys: [] });
  const explain = createExplain({
    context: contextOf(holder),
    compilers,
    settings: dependencies,
    lookups: fixLookups(() => holder.current),
    isSecure,
    hasPlainPort: settings.proxy.tlsPort !== undefined,
    clientTls: recordedTls(),
  });
  callers.wasGuessed = false;
  const explanation = await explain(recordedInput(readRequest(request), callers));
  return { explanation: withoutCredentials(withoutPlaceholders(explanation)), isGuessed: callers.wasGuessed };
}

/** A certificate in a described request cannot be verified here: the files are with the workers. */
let isCertificateGuessed = false;
const UNKNOWN_TRUST: TrustDirectory = {
  find: () => {
    isCertificateGuessed = true;
    return undefined;
  },
  generation: 0,
  overdueCrls: 'refuse',
  noteUse: nothing,
};

function dependenciesWith(keys: KeyDirectory, trust: TrustDirectory): PolicyDependencies {
  return {
    clock,
    limits,
    concurrency,
    keys,
    ...policySettings(settings),
    trust,
    egress,
    onAuth: nothing,
    onLimit: nothing,
    onJwksFailure: nothing,
    onJwksRecovery: nothing,
    onJwksKeySkipped: nothing,
  };
}

/** A context without breakers: they know today's backends, and the question is about another configuration. */
function contextOf(holder: SnapshotHolder<CompiledPolicy>): ProxyContext {
  const options: ProxyOptions = { ...settings.proxy, ipv6PrefixBits: settings.ipv6PrefixBits };
  const deadlines = new Deadlines(clock);
  const date = httpDate(clock.nowMs());
  const targets = new TargetRegistry(0, () => clock.nowMs(), settings.zone);
  return {
    options,
    clock,
    deadlines,
    pool: new UpstreamPool(deadlines, {
      idleMax: 0,
      idleTimeoutMs: 0,
      ageMsMax: UPSTREAM_AGE_MAX_MS,
      clientCertificates: new ClientCertificates(),
      maxUpstreamHttp2Streams: 1,
      maxUpstreamHttp2Connections: 1,
      egress,
      lookup: createLookup({
        resolve: askSystem,
        monotonicMs: () => clock.monotonicMs(),
        onFailure: nothing,
      }),
    }),
    egress,
    via: viaHops(viaName),
    permits: new UpstreamPermits({ maxUpstreamConnections: 0, maxUpstreamQueue: 0 }),
    exchangeLimiter: new ExchangeLimiter(Infinity),
    waiting: new WaitingClients(),
    incompleteHeads: new IncompleteHeads(Infinity, () => undefined),
    requestMemory: new RequestMemory(settings.proxy.maxBufferedRequestBytes),
    retryBudgets: new RetryBudgets(),
    observer: QUIET_OBSERVER,
    snapshot: () => holder.current,
    breakerOf: () => undefined,
    // Results of discovery are not known here: the name of the service stands for its targets.
    targetsOf: (revision) => (revision.targets?.source === undefined ? targets.of(revision) : undefined),
    shareOf: () => 1,
    isTrustedProxy: peerList(settings.trustedProxyIps),
    nextRequestId: requestIds(),
    tracing: undefined,
    isDraining: () => false,
    httpDate: () => date,
    match: createMatchResult<CompiledPolicy>(),
  };
}
