/** A current problem of a gateway: an item of `GET /api/v1/problems`. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';

/** Most severe first. */
const SEVERITIES = ['critical', 'warning', 'info'] as const;

/** Every kind of problem, with the title that people see. */
export const PROBLEMS = {
  database_unavailable: 'The database does not answer',
  database_unwritable: 'The database cannot be written',
  heartbeat_failing: 'The heartbeat of a gateway fails',
  serving_from_snapshot: 'Traffic is served with a saved configuration',
  snapshot_file_unwritable: 'The snapshot file cannot be written',
  config_file_refused: 'The configuration files are refused',
  limit_store_unavailable: 'The store of limits cannot be used',
  limit_store_full: 'The memory of the store of limits is nearly used up',
  workers_missing: 'Fewer workers than configured accept connections',
  worker_lost: 'A worker died or was stuck, and was replaced',
  files_replaced: 'The files of a gateway do not belong to the version that runs',
  node_missing: 'A gateway has vanished',
  clock_differs: 'The clock of a gateway differs from that of the database',
  breaker_open: 'A backend is failing and gets no traffic',
  health_check_failing: 'Health checks of a backend fail',
  no_targets: 'No target of a backend is known',
  discovery_failing: 'The targets of a backend cannot be looked up',
  key_set_unavailable: 'The keys of an identity provider cannot be fetched',
  high_error_share: 'Many requests of an app end in errors',
  certificate_expired: 'A certificate has expired',
  certificate_expires_soon: 'A certificate expires soon',
  certificate_files_unusable: 'New files of a certificate cannot be used',
  client_certificate_missing: 'A gateway lacks a certificate that it must present to a backend',
  trusted_certificates_unusable: 'A file of trusted certificates for clients cannot be used',
  trusted_certificates_missing: 'A gateway lacks trusted certificates for clients that a policy names',
  trusted_certificates_differ: 'Gateways trust different certificates for clients',
  revocation_list_missing: 'A gateway lacks a revocation list',
  revocation_list_overdue: 'The next update of a revocation list is overdue',
  certificate_not_valid_yet: 'A certificate is not valid yet',
  certificate_order_failed: 'A certificate could not be ordered',
  acme_directory_unavailable: 'The ACME directory cannot be used',
  certificate_orders_wait: 'Orders for certificates are waiting',
  limit_counters_full: 'The memory of limit counters is nearly used up',
  stats_full: 'The memory of the time series is used up',
  memory_short: 'A worker is near the limit of its memory',
  descriptors_short: 'The process has nearly used up its file descriptors',
  disk_full: 'The disk of the database is nearly full',
  history_not_compacted: 'Old history of the configuration could not be removed',
  log_lines_dropped: 'Log lines were dropped',
  telemetry_not_exported: 'Telemetry does not reach its collector',
  webhook_failing: 'A webhook fails',
  events_given_up: 'Events could not be delivered to webhooks',
  events_dropped: 'Events were not recorded',
  secrets_unreadable: 'Secrets of the database cannot be decrypted',
  secret_key_changing: 'The secret key is being changed',
  management_without_tls: 'The management API has no TLS',
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

const name = (description: string) => Type.Optional(Type.String({ description }));

const ProblemLinkSchema = Type.Object(
  {
    kind: oneOf(
      [
        'app',
        'revision',
        'nodes',
        'workers',
        'database',
        'limits',
        'certificates',
        'settings',
        'config_file',
        'logs',
        'webhooks',
      ],
      { description: 'What the problem is about.' },
    ),
    app: name('Slug of the app.'),
    version: name('Label of the version.'),
    revision: name('Label of the revision.'),
    node: name('Name of the gateway.'),
    setting: name('Name of the setting that is related to it.'),
  },
  { ...closed, title: 'ProblemLink' },
);

const ProblemSchema = Type.Object(
  {
    severity: oneOf(SEVERITIES, {
      description:
        '`critical`: traffic or changes fail now. `warning`: some fail, or they will fail. `info`: no failure.',
    }),
    code: oneOf(Object.keys(PROBLEMS) as ProblemCode[], {
      description: 'Stable, so programs may depend on it. Later versions may add codes.',
    }),
    title: Type.String({ description: 'What is wrong, in a few words.' }),
    detail: Type.String({ description: 'Details with names and figures, and what to do about it.' }),
    since: nullable(dateTime('Time since which the problem exists; null: it is not known.')),
    node: Type.String({ description: 'Name of the gateway that found it.' }),
    link: ProblemLinkSchema,
  },
  { ...closed, title: 'CurrentProblem' },
);

export type Problem = Omit<Static<typeof ProblemSchema>, 'code'> & { readonly code: ProblemCode };

export const ProblemsSchema = Type.Array(ProblemSchema, {
  description: 'Most severe first; empty when there is no problem.',
});

/** In the order of display; equal problems keep their order. */
export function bySeverity(problems: readonly Problem[]): Problem[] {
  const rank = ({ severity }: Problem): number => SEVERITIES.indexOf(severity);
  return [...problems].sort((a, b) => rank(a) - rank(b));
}
