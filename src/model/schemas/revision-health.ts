/** Health of a revision as one node sees it: what `GET …/revisions/{revision_id}/health` answers. */
import { Type, type Static } from 'typebox';
import { nullable } from '../policy.ts';
import { closed, dateTime, id } from './common.ts';

const state = (description: string) =>
  Type.Union([Type.Literal('closed'), Type.Literal('open'), Type.Literal('half_open')], { description });

const LastErrorSchema = Type.Object(
  {
    at: dateTime('When.'),
    kind: Type.String({
      description: 'Kind of failure, as the label `cause` of the metrics has it, or `status_5xx`.',
    }),
    detail: Type.String({ description: 'In words, for people.' }),
    request_id: Type.String({ description: 'Of the exchange that failed.' }),
  },
  { ...closed, title: 'RevisionLastError' },
);

const LastProbeSchema = Type.Object(
  {
    at: dateTime('When it ended.'),
    ok: Type.Boolean({ description: 'Whether the status came in time and was an expected one.' }),
    status: nullable(Type.Integer({ description: 'Null when there was no answer.' })),
    duration_ms: Type.Integer({ minimum: 0 }),
    error: nullable(Type.String({ description: 'What was wrong, for people.' })),
  },
  { ...closed, title: 'RevisionProbe' },
);

const TransitionSchema = Type.Object(
  {
    at: dateTime('When.'),
    from: state('Before.'),
    to: state('After.'),
    event: Type.String({
      description: 'Of the table in docs/reference/circuit-breaker.md, for example `trial_success`.',
    }),
    detail: Type.String({ description: 'What had happened, for people.' }),
    request_id: nullable(Type.String({ description: 'Null for health checks.' })),
  },
  { ...closed, title: 'RevisionTransition' },
);

export const RevisionHealthSchema = Type.Object(
  {
    revision_id: id('Id of the revision.'),
    state: state('Of the circuit breaker, over all workers of the node.'),
    since: nullable(dateTime('Since when; null when it was never open.')),
    consecutive_failures: Type.Integer({ minimum: 0 }),
    openings: Type.Integer({ minimum: 0, description: 'How often it has opened.' }),
    traffic_share: Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Part of its usual share of the traffic that it gets now; grows to 1 while it recovers.',
    }),
    probing: Type.Union(
      ['off', 'while_open', 'always'].map((when) => Type.Literal(when)),
      {
        description: 'When `health_check_path` is asked for; `off` also while the revision is not current.',
      },
    ),
    last_error: nullable(LastErrorSchema),
    last_probe: nullable(LastProbeSchema),
    history: Type.Array(TransitionSchema, { description: 'Changes of state, the latest first, at most 32.' }),
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
}
