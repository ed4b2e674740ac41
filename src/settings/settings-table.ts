/**
 * The table of all settings: one row for each environment variable, with its kind, default and meaning. Parsing
 * (settings.ts), defaults and docs/reference/settings.md come from these rows. A double underscore in a name nests.
 */
import { NOTICE_SETTINGS } from './areas/notice-settings.ts';
import { EVENT_SETTINGS } from './areas/event-settings.ts';
import { ACME_SETTINGS } from './areas/acme-settings.ts';
import { MANAGEMENT_SETTINGS } from './areas/management-settings.ts';
import { CONSOLE_SETTINGS } from './areas/console-settings.ts';
import { DATABASE_SETTINGS } from './areas/database-settings.ts';
import { OIDC_SETTINGS } from './areas/oidc-settings.ts';
import { PROCESS_SETTINGS } from './areas/process-settings.ts';
import { LISTENER_SETTINGS } from './areas/listener-settings.ts';
import { REQUEST_SETTINGS } from './areas/request-settings.ts';
import { UPSTREAM_SETTINGS } from './areas/upstream-settings.ts';
import { DISCOVERY_SETTINGS } from './areas/discovery-settings.ts';
import { LIMIT_SETTINGS } from './areas/limit-settings.ts';
import { JWT_SETTINGS } from './areas/jwt-settings.ts';
import { LOG_SETTINGS } from './areas/log-settings.ts';
import { OTEL_SETTINGS } from './areas/otel-settings.ts';
import type { Setting } from './settings-values.ts';

export { ACME_KEY_TYPES } from './areas/acme-settings.ts';
export { LIMIT_MODES } from './areas/limit-settings.ts';
export { LOG_FORMATS, LOG_LEVELS } from './areas/log-settings.ts';

interface SettingArea {
  readonly title: string;
  readonly settings: Readonly<Record<string, Setting<unknown>>>;
}

/** The areas in the order of the docs. */
export const SETTING_AREAS: readonly SettingArea[] = [
  { title: 'Management', settings: MANAGEMENT_SETTINGS },
  { title: 'Console', settings: CONSOLE_SETTINGS },
  { title: 'OpenID Connect', settings: OIDC_SETTINGS },
  { title: 'Database and cluster', settings: DATABASE_SETTINGS },
  { title: 'Process', settings: PROCESS_SETTINGS },
  { title: 'Traffic listener', settings: LISTENER_SETTINGS },
  { title: 'Certificates by ACME', settings: ACME_SETTINGS },
  { title: 'Requests', settings: REQUEST_SETTINGS },
  { title: 'Backends', settings: UPSTREAM_SETTINGS },
  { title: 'Discovery of targets', settings: DISCOVERY_SETTINGS },
  { title: 'Rate limits', settings: LIMIT_SETTINGS },
  { title: 'JWT', settings: JWT_SETTINGS },
  { title: 'Events and webhooks', settings: { ...EVENT_SETTINGS, ...NOTICE_SETTINGS } },
  { title: 'Log', settings: LOG_SETTINGS },
  { title: 'OpenTelemetry', settings: OTEL_SETTINGS },
];

export const SETTINGS = {
  ...MANAGEMENT_SETTINGS,
  ...CONSOLE_SETTINGS,
  ...OIDC_SETTINGS,
  ...DATABASE_SETTINGS,
  ...PROCESS_SETTINGS,
  ...LISTENER_SETTINGS,
  ...ACME_SETTINGS,
  ...REQUEST_SETTINGS,
  ...UPSTREAM_SETTINGS,
  ...DISCOVERY_SETTINGS,
  ...LIMIT_SETTINGS,
  ...JWT_SETTINGS,
  ...EVENT_SETTINGS,
  ...NOTICE_SETTINGS,
  ...LOG_SETTINGS,
  ...OTEL_SETTINGS,
} as const;

export type SettingName = keyof typeof SETTINGS;
/** The value of every variable, after parsing and defaults. */
export type SettingValues = {
  readonly [Name in SettingName]: (typeof SETTINGS)[Name] extends Setting<infer T> ? T : never;
};
