/**
 * Metrics of where the configuration comes from: the database with its clock and the history in it, or the files that
 * replace it.
 */
import type { Exposition } from './exposition.ts';

export interface ConfigFileFacts {
  /** RFC 3339. */
  readonly loadedAt: string;
  readonly problem: object | undefined;
  /** The number of reloads by result. */
  readonly reloads: Readonly<Record<string, number>>;
}

/** The kept history of the configuration. */
export interface HistoryUse {
  readonly versions: number;
  readonly bytes: number;
  /** Unix milliseconds; undefined when it has not failed since the start. */
  readonly failedAtMs: number | undefined;
}

export function addDatabase(page: Exposition, { driver, isUp }: { driver: string; isUp: boolean }): void {
  page.family('gauge', 'headgate_database_up', 'Whether the database answers', [
    { labels: { driver }, value: isUp ? 1 : 0 },
  ]);
}

export function addClock(page: Exposition, aheadMs: number): void {
  const help =
    'Time by which the clock of the gateway was ahead of that of PostgreSQL when they were last compared; negative: behind';
  page.gauge('headgate_clock_ahead_seconds', help, aheadMs / 1000);
}

export function addConfigFile(page: Exposition, { loadedAt, problem, reloads }: ConfigFileFacts): void {
  page.gauge(
    'headgate_config_file_ok',
    'Whether the configuration files are in force',
    problem === undefined ? 1 : 0,
  );
  page.gauge(
    'headgate_config_file_loaded_timestamp_seconds',
    'Unix time at which the served configuration files were read',
    Math.floor(Date.parse(loadedAt) / 1000),
  );
  page.family(
    'counter',
    'headgate_config_file_loads_total',
    'Readings of the configuration files, by result',
    Object.entries(reloads).map(([result, value]) => ({ labels: { result }, value })),
  );
}

export function addHistory(page: Exposition, { versions, bytes, failedAtMs = 0 }: HistoryUse): void {
  page.gauge('headgate_config_history_versions', 'Config versions in the history', versions);
  page.gauge('headgate_config_history_bytes', 'Bytes of changed records in the history', bytes);
  const help = 'Unix time at which removing old history last failed; 0: never since the start';
  page.gauge('headgate_config_history_last_failure_timestamp_seconds', help, Math.floor(failedAtMs / 1000));
}
