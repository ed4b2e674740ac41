/** Health of a revision as one node sees it: what `GET …/revisions/{revision_id}/health` answers. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { id } from './common.ts';

const state = (description: string) => oneOf(['closed', 'open', 'half_open'], { description });

const LastErrorSchema = Type.Object(
  {
    at: dateTime('When it happened.'),
    kind: Type.String({
      description: 'Kind of failure: a value of the metric label `cause`, or `status_5xx`.',
    }),
    detail: Type.String({ description: 'What happened, for people.' }),
    request_id: Type.String({ description: 'Id of the exchange that failed.' }),
  },
  { ...closed, title: 'RevisionLastError', description: 'The last failure. null: none yet.' },
);

const LastProbeSchema = Type.Object(
  {
    at: dateTime('When the check ended.'),
    ok: Type.Boolean({ description: 'Whether the answer was good and arrived in time.' }),
    status: nullable(Type.Integer({ description: 'HTTP status of the answer. null: there was none.' })),
    duration_ms: Type.Integer({ minimum: 0, description: 'Duration of the check in milliseconds.' }),
    error: nullable(Type.String({ description: 'What was wrong, for people. null: nothing was wrong.' })),
  },
  { ...closed, title: 'RevisionProbe', description: 'The last health check. null: none yet.' },
);

const TransitionSchema = Type.Object(
  {
    at: dateTime('When it happened.'),
    from: state('State before.'),
    to: state('State after.'),
    event: Type.String({
      description: 'Event of the circuit breaker, for example `trial_success`.',
    }),
    detail: Type.String({ description: 'The cause, for people.' }),
    request_id: nullable(
      Type.String({ description: 'Id of the exchange that caused it. null: a health check caused it.' }),
    ),
  },
  { ...closed, title: 'RevisionTransition' },
);

/** The state of a circuit breaker alone. */
export const BreakerSchema = Type.Object(
  {
    state: state('State of the circuit breaker.'),
    consecutive_failures: Type.Integer({ minimum: 0, description: 'Failures in a row, over all workers.' }),
    since_ms: Type.Number({ minimum: 0, description: 'Milliseconds in this state; 0 while closed.' }),
    openings: Type.Integer({
      minimum: 0,
      description: 'Number of times that it has opened since the start.',
    }),
  },
  { ...closed, title: 'BreakerState' },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

const TargetHealthSchema = Type.Object(
  {
    host: Type.String(),
    port: Type.Integer(),
    weight: count('Share of the requests relative to the other targets.'),
    zone: nullable(Type.String({ description: 'Zone of the target.' })),
    state: oneOf(['in_service', 'warming', 'ejected', 'unhealthy'], {
      description:
        '`warming`: its share is growing. `ejected`: it gets no requests because of failures. `unhealthy`: it fails its health checks.',
    }),
    share: Type.Number({ minimum: 0, maximum: 1, description: 'The part of its weight that applies now.' }),
    in_flight: count('Requests under way, over all workers.'),
    requests: count('Number of attempts since the target was added.'),
    failures: count('Number of these attempts that failed.'),
    consecutive_failures: count('Failures in a row.'),
    ejections: count('Number of times that it was ejected.'),
    ejected_until: nullable(dateTime('When it returns. null: it is not ejected.')),
    cause: nullable(
      Type.String({
        description:
          'Reason of its last ejection: `failures_in_a_row` or `more_failures_than_its_peers`. null: it was never ejected.',
      }),
    ),
    last_probe: nullable(LastProbeSchema),
  },
  { ...closed, title: 'TargetHealth' },
);
export type TargetHealth = Static<typeof TargetHealthSchema>;

const DiscoveryHealthSchema = Type.Object(
  {
    source: Type.String({ description: 'Source of the targets, for example `dns billing.internal:443`.' }),
    targets: count(
      'Number of targets in use. 0: none were found since the start, and requests get 503 `no_targets`.',
    ),
    looked_at: nullable(dateTime('Time of the last look-up. null: there was none yet.')),
    changed_at: nullable(dateTime('When the targets last changed. null: never.')),
    stale_since: nullable(
      dateTime(
        'Time since which look-ups fail, so that the targets found earlier stay in use. null: the last look-up succeeded.',
      ),
    ),
    error: nullable(
      Type.String({ description: 'Why the last look-up failed, for people. null: it did not fail.' }),
    ),
    doubted: nullable(
      count(
        'Number of targets that the last look-up found, if it was less than half of the targets in use: they are used if the next look-up finds the same, or if no look-up finds more for 30 seconds. null: there was no such drop.',
      ),
    ),
    left_out: count(
      'Number of targets that were found but are not used, because a revision can have at most 256.',
    ),
    notes: Type.Array(Type.String(), { description: 'What else was found but is not used, and why.' }),
  },
  {
    ...closed,
    title: 'DiscoveryHealth',
    description: 'What this gateway has discovered, for a revision with discovery.',
  },
);
export type DiscoveryHealth = Static<typeof DiscoveryHealthSchema>;

export const RevisionHealthSchema = Type.Object(
  {
    revision_id: id('Id of the revision.'),
    state: state('State of the circuit breaker, shared by all workers of the node.'),
    since: nullable(dateTime('Start of the present state. null: it was never open.')),
    consecutive_failures: Type.Integer({ minimum: 0, description: 'Failures in a row.' }),
    openings: Type.Integer({ minimum: 0, description: 'Number of times that the breaker has opened.' }),
    traffic_share: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'The part of its usual traffic that the revision gets now. It grows to 1 while the revision recovers.',
    }),
    probing: oneOf(['off', 'while_open', 'always'], {
      description: 'When health checks run. It is also `off` while the revision is not current.',
    }),
    last_error: nullable(LastErrorSchema),
    last_probe: nullable(LastProbeSchema),
    history: Type.Array(TransitionSchema, { description: 'Changes of state, latest first, at most 32.' }),
    targets: Type.Optional(
      Type.Array(TargetHealthSchema, {
        description: 'Each target of a revision with several targets or with discovery.',
      }),
    ),
    discovery: Type.Optional(DiscoveryHealthSchema),
  },
  { ...closed, title: 'RevisionHealth' },
);

export type RevisionLastError = Static<typeof LastErrorSchema>;
export type RevisionProbe = Static<typeof LastProbeSchema>;
export type RevisionTransition = Static<typeof TransitionSchema>;

export interface RevisionHealth {
  readonly revision_id: string;
  readonly state: RevisionTransition['to'];
  readonly since: string | null;
  readonly consecutive_failures: number;
  readonly openings: number;
  readonly traffic_share: number;
  readonly probing: 'off' | 'while_open' | 'always';
  readonly last_error: RevisionLastError | null;
  readonly last_probe: RevisionProbe | null;
  readonly history: readonly RevisionTransition[];
  readonly targets?: readonly TargetHealth[];
  readonly discovery?: DiscoveryHealth;
}
