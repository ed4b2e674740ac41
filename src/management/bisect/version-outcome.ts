/** The result of a described request at one config version, as far as searches compare and show it. Pure. */
import type { Explanation } from '../../explain/schema.ts';

export interface VersionOutcome {
  readonly config_version: number;
  readonly outcome: Explanation['outcome'];
  /** null when a backend answers. */
  readonly status: number | null;
  readonly code: string | null;
  /** The stage that decided, and why; null when the request is forwarded. */
  readonly stage: string | null;
  readonly detail: string | null;
  /** Where it is forwarded, one of possibly several URLs; null when the gateway answers. */
  readonly upstream_url: string | null;
}

export interface Expectation {
  readonly outcome?: Explanation['outcome'];
  readonly status?: number;
  readonly code?: string;
}

export function outcomeOn(configVersion: number, explanation: Explanation): VersionOutcome {
  const { outcome, code, response, upstream, stages } = explanation;
  const decider = stages.find(({ verdict }) => verdict === 'denied' || verdict === 'answered');
  return {
    config_version: configVersion,
    outcome,
    status: response.status,
    code,
    stage: decider?.stage ?? null,
    detail: decider?.detail ?? null,
    upstream_url: upstream?.url ?? null,
  };
}

/**
 * Equal for answers that a client cannot tell apart: ignores which of several revisions the weighted choice
 * selects.
 */
export function answerKey({ outcome, code, response, upstream, candidates }: Explanation): string {
  const eligible = candidates.filter(({ candidate }) => candidate).map(({ id }) => id);
  const target = upstream === null ? [] : eligible.length > 1 ? eligible.toSorted() : [upstream.url];
  return JSON.stringify([outcome, response.status, code, target]);
}

export function isExpected(
  { outcome, code, response }: Explanation,
  { outcome: wanted = outcome, status = response.status ?? undefined, code: wantedCode }: Expectation,
): boolean {
  return (
    outcome === wanted &&
    (response.status ?? undefined) === status &&
    (wantedCode === undefined || code === wantedCode)
  );
}

/** Ids of the records that decided an explanation. */
export function decidingIds({
  app,
  version,
  revision,
  endpoint,
  caller,
  candidates,
  stages,
}: Explanation): string[] {
  const ids = [app?.id, version?.id, revision?.id, endpoint?.id, caller?.id];
  const sources = stages.map(({ source_id: id }) => id ?? undefined);
  return [...ids, ...sources, ...candidates.map(({ id }) => id)].filter((id) => id !== undefined);
}
