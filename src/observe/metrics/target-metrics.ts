/** Metrics of the targets of revisions, and of their discovery. */
import type { Exposition } from './exposition.ts';
import type { RevisionLabels } from './metric-records.ts';

/** One target of a revision that has several. */
export interface TargetFact {
  readonly labels: RevisionLabels & { readonly target: string };
  readonly isInService: boolean;
  readonly inFlight: number;
  readonly requests: number;
  readonly failures: number;
  readonly ejections: number;
}

/** The results of discovery for a revision. */
export interface DiscoveryFact {
  readonly labels: RevisionLabels;
  readonly targets: number;
  readonly isStale: boolean;
}

export interface DiscoveryFacts {
  /** Look-ups by type of source and outcome. */
  readonly looks: ReadonlyMap<string, Readonly<Record<string, number>>>;
  readonly revisions: Iterable<DiscoveryFact>;
}

export function addTargets(page: Exposition, targets: readonly TargetFact[]): void {
  const per = (
    kind: 'gauge' | 'counter',
    name: string,
    help: string,
    of: (fact: TargetFact) => number,
  ): void =>
    page.family(
      kind,
      `headgate_target_${name}`,
      help,
      targets.map((fact) => ({ labels: { ...fact.labels }, value: of(fact) })),
    );
  per('gauge', 'in_service', 'Whether a target of a revision with several gets requests', (fact) =>
    Number(fact.isInService),
  );
  per('gauge', 'requests_in_flight', 'Requests under way at a target', (fact) => fact.inFlight);
  per('counter', 'requests_total', 'Attempts at a target', (fact) => fact.requests);
  per('counter', 'failures_total', 'Attempts at a target that have failed', (fact) => fact.failures);
  per(
    'counter',
    'ejections_total',
    'How often a target was ejected for failed requests',
    (fact) => fact.ejections,
  );
}

export function addDiscovery(page: Exposition, { looks, revisions }: DiscoveryFacts): void {
  const facts = [...revisions];
  const values = [...looks].flatMap(([type, counts]) =>
    Object.entries(counts).map(([outcome, value]) => ({ labels: { type, outcome }, value })),
  );
  const help = 'Look-ups of targets, by type of source and result';
  page.family('counter', 'headgate_discovery_looks_total', help, values);
  page.family(
    'gauge',
    'headgate_discovery_targets',
    'Targets in use that discovery has found for a revision',
    facts.map(({ labels, targets: value }) => ({ labels: { ...labels }, value })),
  );
  page.family(
    'gauge',
    'headgate_discovery_stale',
    'Whether discovery fails for a revision, so that the targets found earlier stay in use',
    facts.map(({ labels, isStale }) => ({ labels: { ...labels }, value: Number(isStale) })),
  );
}
