/**
 * The targets of a revision that has several, and how requests are distributed over them
 * (docs/reference/targets.md). A revision with a single target has only its backend and none of this. A revision
 * with discovery has all of it, however many targets were found.
 */
import type { Discovery, FoundTarget, LoadBalancing, Revision } from '../model/resources.ts';
import { backendAt, compileBackend, poolKeyOf } from './backend.ts';
import type {
  CompiledBackend,
  CompiledBalancing,
  CompiledTarget,
  CompiledTargets,
  EjectionRules,
} from './types.ts';

/** The defaults of `load_balancing`. */
export const BALANCING_DEFAULTS = Object.freeze({
  algorithm: 'least_requests',
  slow_start_secs: 10,
} as const);

/** The defaults of `load_balancing.ejection`. */
export const EJECTION_DEFAULTS = Object.freeze({
  enabled: true,
  consecutive_failures: 5,
  failure_percent: 30,
  min_requests: 20,
  base_secs: 10,
  max_secs: 300,
  count_5xx: true,
});

/** undefined: the revision has a single target and no discovery. */
export function compileTargets(revision: Revision): CompiledTargets | undefined {
  if (!isBalanced(revision)) return undefined;
  const { discovery, load_balancing: balancing } = revision;
  const source = discovery ? sourceText(discovery) : undefined;
  return { list: compiledList(revision), balancing: compileBalancing(balancing), source };
}

/** Whether the revision has several targets, or discovery. */
export function isBalanced({ targets, discovery }: Revision): boolean {
  // Records in a snapshot file of an earlier release do not have these fields.
  return (discovery ?? null) !== null || (targets?.length ?? 0) > 1;
}

/** The targets with the results of discovery in place of earlier results. */
export function withFound(
  { balancing, source }: CompiledTargets,
  backend: CompiledBackend,
  found: readonly FoundTarget[],
): CompiledTargets {
  const list = found.map((target) => compiledTarget(backendAt(backend, target), target));
  return { list, balancing, source };
}

/** The source of discovery in words, such as `dns billing.internal:443`. */
export function sourceText(discovery: Discovery): string {
  switch (discovery.type) {
    case 'dns':
      return `dns ${discovery.host}:${discovery.port}`;
    case 'dns_srv':
      return `dns_srv ${discovery.name}`;
    case 'file':
      return `file ${discovery.path}`;
  }
}

/** The keys of the targets of a revision, in order. */
export function targetKeys(revision: Revision): string[] {
  return recordsOf(revision).map((target) => poolKeyOf(revision, target));
}

function recordsOf({
  targets,
  discovery,
  backend_host: host,
  backend_port: port,
}: Revision): readonly FoundTarget[] {
  if (targets) return targets;
  return discovery ? [] : [{ host, port, weight: 100 }];
}

/** All targets of a revision, also when there is only one. */
function compiledList(revision: Revision): CompiledTarget[] {
  return recordsOf(revision).map((target) => compiledTarget(compileBackend(revision, target), target));
}

function compiledTarget(backend: CompiledBackend, { weight, zone }: FoundTarget): CompiledTarget {
  return { key: backend.poolKey, backend, weight, zone };
}

export function compileBalancing(settings: LoadBalancing | null): CompiledBalancing {
  const { algorithm, slow_start_secs: slowStartSecs, hash } = { ...BALANCING_DEFAULTS, ...settings };
  return {
    algorithm,
    hash:
      algorithm !== 'hash' || hash === undefined
        ? undefined
        : {
            by: hash.by,
            name: hash.by === 'header' ? (hash.name ?? '').toLowerCase() : (hash.name ?? ''),
            ttlSecs: hash.ttl_secs,
          },
    ejection: compileEjection(settings),
    slowStartMs: slowStartSecs * 1_000,
  };
}

function compileEjection(settings: LoadBalancing | null): EjectionRules {
  const rules = { ...EJECTION_DEFAULTS, ...settings?.ejection };
  const baseMs = rules.base_secs * 1_000;
  return {
    failuresInRow: rules.enabled ? rules.consecutive_failures : Infinity,
    failureShare: rules.enabled ? rules.failure_percent / 100 : Infinity,
    attemptsMin: rules.min_requests,
    baseMs,
    maxMs: Math.max(baseMs, rules.max_secs * 1_000),
    counts5xx: rules.count_5xx,
  };
}
