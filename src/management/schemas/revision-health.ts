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
    ok: Type.Boolean({ description: 'Whether the answer was good, and came in time.' }),
    status: nullable(Type.Integer({ description: 'HTTP status of the answer. null: there was none.' })),
    duration_ms: Type.Integer({ minimum: 0, description: 'How long the check took, in milliseconds.' }),
    error: nullable(Type.String({ description: 'What was wrong, for people. null: nothing.' })),
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
    detail: Type.String({ description: 'Cause, for people.' }),
    request_id: nullable(
      Type.String({ description: 'Id of the exchange that caused it. null: a health check did.' }),
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
    openings: Type.Integer({ minimum: 0, description: 'How often it opened since the start.' }),
  },
  { ...closed, title: 'BreakerState' },
);

const count = (description: string) => Type.Integer({ minimum: 0, description });

const TargetHealthSchema = Type.Object(
  {
    host: Type.String(),
    port: Type.Integer(),
    weight: count('Share of the requests relative to the other targets.'),
    zone: nullable(Type.String({ description: 'Where it stands.' })),
    state: oneOf(['in_service', 'warming', 'ejected', 'unhealthy'], {
      description:
        '`warming`: its share grows. `ejected`: it has failed requests. `unhealthy`: it fails its health checks.',
    }),
    share: Type.Number({ minimum: 0, maximum: 1, description: 'Part of its weight that counts now.' }),
    in_flight: count('Requests under way, over all workers.'),
    requests: count('Attempts since it was added.'),
    failures: count('Attempts of these that have failed.'),
    consecutive_failures: count('Failures in a row.'),
    ejections: count('How often it was ejected.'),
    ejected_until: nullable(dateTime('When it returns. null: it is not ejected.')),
    cause: nullable(
      Type.String({
        description:
          'Why it was ejected last: `failures_in_a_row` or `more_failures_than_its_peers`. null: it never was.',
      }),
    ),
    last_probe: nullable(LastProbeSchema),
  },
  { ...closed, title: 'TargetHealth' },
);
export type TargetHealth = Static<typeof TargetHealthSchema>;

const DiscoveryHealthSchema = Type.Object(
  {
    source: Type.String({ description: 'What is looked up, for example `dns billing.internal:443`.' }),
    targets: count('Targets in use. 0: none were found since the start; requests get 503 `no_targets`.'),
    looked_at: nullable(dateTime('The last look. null: none yet.')),
    changed_at: nullable(dateTime('When the targets changed last. null: never.')),
    stale_since: nullable(
      dateTime(
        'Since when looks fail, so that targets found before stay in use. null: the last look was good.',
      ),
    ),
    error: nullable(Type.String({ description: 'Why the last look failed, for people. null: it did not.' })),
    doubted: nullable(
      count(
        'How many targets the last look has found, where these are less than half: they are used when the next look finds the same. null: no doubt.',
      ),
    ),
    left_out: count('Targets that were found and are not used, since a revision has 256 at most.'),
    notes: Type.Array(Type.String(), { description: 'What else was found and is not used, and why.' }),
  },
  {
    ...closed,
    title: 'DiscoveryHealth',
    description: 'What the gateway that answers has discovered, for a revision with discovery.',
  },
);
export type DiscoveryHealth = Static<typeof DiscoveryHealthSchema>;

export const RevisionHealthSchema = Type.Object(
  {
    revision_id: id('Id of the revision.'),
    state: state('State of the circuit breaker, shared by all workers of the node.'),
    since: nullable(dateTime('Since when. null: it was never open.')),
    consecutive_failures: Type.Integer({ minimum: 0, description: 'Failures in a row.' }),
    openings: Type.Integer({ minimum: 0, description: 'How often the breaker has opened.' }),
    traffic_share: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Part of its usual traffic that the revision gets now. Grows to 1 while it recovers.',
    }),
    probing: oneOf(['off', 'while_open', 'always'], {
      description: 'When health checks run. `off` also while the revision is not current.',
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
