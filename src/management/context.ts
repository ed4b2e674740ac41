/** Everything that operations work with. server.ts builds it once. */
import type { GatewayEvent } from '../model/events/events.ts';
import type { StoredWebhook } from '../model/events/webhook.ts';
import type { DeliveryState } from '../storage/delivery-store.ts';
import type { EventStore } from '../storage/event-store.ts';
import type { SecretStore } from '../storage/secret-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { LimitSettings, RateLimitGlobals } from '../policy/dependencies.ts';
import type { Revision } from '../model/resources.ts';
import type { NodeState } from './schemas/overview/state-schema.ts';
import type { CertificateEntry } from './schemas/overview/certificate-schema.ts';
import type { SettingView } from './schemas/overview/setting-schema.ts';
import type { RevisionHealth } from './schemas/revision-health.ts';
import type { ShadowReport, ShadowReportFilter } from '../observe/shadow-report.ts';
import type { JwtDefaults } from '../model/auth/jwt-defaults.ts';
import type { NodeRecord, Repository } from '../storage/repository.ts';
import type { FilteredReads } from './crud/filtered-reads.ts';
import type { DatabaseCheck } from './database-check.ts';
import type { ChangePath } from './write/dry-run.ts';
import type { SignInAccess } from './sessions/session-operations.ts';
import type { ProfileSource } from '../observe/profile.ts';
import type { ConfigTrials, ExplainAccess } from '../explain/explain-access.ts';
import type { EventFeed } from './routes/events/event-feed.ts';
import type { LiveHub } from '../explain/live/live-hub.ts';
import type { Reading } from './crud/reading.ts';
import type { EgressCheck } from './write/rule-context.ts';
import type { ServedConfig } from './served-config.ts';
import type { Convert } from './import/conversion-job.ts';
import type { OwnListener } from './try/send-request.ts';
import type { Problem } from './schemas/overview/problem-schema.ts';
import type { StatsAccess } from './stats/stats-access.ts';
import type { TrustFacts } from '../policy/part.ts';
import type { WritePath } from './write/write.ts';

/** The certificates of this gateway, from files and by ACME. */
export interface OwnCertificates {
  /** Sorted by name. */
  list(): readonly CertificateEntry[];
  /** Whether certificates are ordered at all. */
  readonly areOrdered: boolean;
  /** Whether a certificate is, or would be, ordered for a host. */
  isOrdered(host: string): boolean;
  /** Applies what was just stored, without waiting. */
  look(): void;
}

export interface ManagementStatus {
  readonly dbDriver: string;
  uptimeSecs(): number;
  /**
   * What serves in place of a database that could not be used at the start, in words; undefined when the database
   * is used.
   */
  fallback(): string | undefined;
  /** How rate limits work while the shared store is unreachable; undefined when it is reachable. */
  limits(): string | undefined;
  /** Why the heartbeat of this gateway fails, in words; undefined while it works. */
  heartbeat(): string | undefined;
  /** How wrong the clock is, in words; undefined when it is right, or cannot be compared. */
  clock(): string | undefined;
  /** Which secrets of the database cannot be decrypted; undefined when all can, as far as is known. */
  secrets(): string | undefined;
  /** Problems with certificates that are served nevertheless; undefined when there are none. */
  certificates(): string | undefined;
  /** The names of the certificates of the traffic listener; undefined when it does not speak TLS. */
  certificateNames(): readonly string[] | undefined;
  readonly ownCertificates: OwnCertificates;
  /** The names of the certificates that this gateway can present to backends. */
  clientCertificateNames(): readonly string[];
  /** Whether this gateway reads files that list targets. */
  readonly readsTargetFiles: boolean;
  /** The certificates that client certificates are verified with. */
  readonly trusted: TrustFacts;
  /** The files that the configuration comes from; undefined when it comes from a database. */
  configFile(): ConfigFileStatus | undefined;
  /** Whether the workers serve; says nothing about the database. */
  ready(): { readonly ready: boolean; readonly reason: string | undefined };
  /** State of a revision's circuit breaker over all workers, as JSON; undefined when nothing is known of it. */
  breakerState(revisionId: string): unknown;
  /** The breaker state with its history, the last error and the last health check. */
  revisionHealth(revision: Revision): RevisionHealth;
  /** The gateway's own time series; undefined when they are switched off. */
  readonly stats: StatsAccess | undefined;
  /** The states of all gateways on the database, this one first. */
  states(): Promise<readonly NodeState[]>;
  /** The current problems, except those of the database. */
  problems(): Promise<readonly Problem[]>;
}

/** The files that replace a database. */
export interface ConfigFileStatus {
  /** Path of the file or folder; only for admins. */
  readonly path: string;
  /** When the configuration in force was read; RFC 3339. */
  readonly loadedAt: string;
  /** Problems of the current files; undefined when they are in force. Only for admins. */
  readonly problem:
    | {
        /** RFC 3339. */
        readonly since: string;
        /** At most some dozens. */
        readonly problems: readonly {
          readonly file: string;
          readonly line: number;
          readonly column: number;
          readonly pointer: string;
          readonly detail: string;
        }[];
        readonly total: number;
      }
    | undefined;
}

/** The shadow report, including everything that happened before the call. */
export interface ShadowReports {
  read(appId: string, filter: ShadowReportFilter): Promise<ShadowReport>;
  reset(appId: string): Promise<void>;
}

/** The gateways with the same database. */
export interface NodesAccess {
  /** The id of this gateway. */
  readonly selfId: string;
  readonly selfName: string;
  /** The live nodes. Throws StorageUnavailable. */
  list(): Promise<readonly NodeRecord[]>;
}

/** The data for backups. */
interface BackupSource {
  readonly repository: Pick<Repository, 'backup'>;
  readonly programVersion: string;
}

/** Webhooks beyond their records. All throw StorageUnavailable. */
interface WebhooksAccess {
  states(): Promise<readonly DeliveryState[]>;
  /** By the clock of the database; Unix milliseconds. */
  nowMs(): Promise<number>;
  /** Sends a test event now. Does not throw. */
  test(webhook: StoredWebhook): Promise<WebhookTestOutcome>;
}

interface WebhookTestOutcome {
  readonly event: GatewayEvent;
  readonly outcome: {
    /** `delivered`, or a reason why not. */
    readonly result: string;
    readonly status: number | null;
    readonly error: string;
    readonly latencyMs: number;
  };
}

export interface ManagementContext {
  /** Throws StorageUnavailable when there has been no database since the start. */
  readonly events: () => EventStore;
  /** Throws StorageUnavailable as `events` does. */
  readonly secrets: () => SecretStore;
  readonly webhooks: WebhooksAccess;
  readonly egress: EgressCheck;
  /** Reads continue from a copy while the database is unavailable. */
  readonly repository: Reading;
  readonly served: ServedConfig;
  readonly backups: BackupSource;
  readonly database: DatabaseCheck;
  readonly filteredReads: FilteredReads;
  readonly nodes: NodesAccess;
  readonly write: WritePath;
  /** The path for writes that accept `dry_run`. */
  readonly change: ChangePath;
  readonly clock: Clock;
  readonly policyGlobals: RateLimitGlobals | undefined;
  readonly limitSettings: LimitSettings;
  readonly jwtDefaults: JwtDefaults;
  readonly status: ManagementStatus;
  readonly shadow: ShadowReports;
  readonly explain: ExplainAccess;
  readonly live: LiveHub;
  readonly eventFeed: EventFeed;
  readonly profiles: ProfileSource;
  readonly trials: ConfigTrials;
  readonly convertDescription: Convert;
  /** Where this gateway takes traffic; undefined while it does not. */
  readonly ownListener: () => Promise<OwnListener | undefined>;
  /** Settings of the process, with secrets masked; in the order of the docs. */
  readonly settings: readonly SettingView[];
  readonly metricsText: () => Promise<string>;
  /** Whether GATEWAY_ADMIN_TOKEN is set. If so, the last stored admin token may be deleted. */
  readonly hasEnvironmentToken: boolean;
  readonly signIn: SignInAccess;
}
