/**
 * Every setting in force, for people who inspect a running gateway: its value, its default and where the value comes
 * from. Secrets are masked here, so that no outer layer has them. Pure.
 */
import type { ShareFacts } from './memory-shares.ts';
import { shareFacts } from './settings.ts';
import { SETTING_AREAS, SETTINGS, type SettingValues } from './settings-table.ts';
import type { Setting } from './settings-values.ts';

type SettingValue = string | number | boolean | string[] | null;

export interface SettingInForce {
  readonly name: string;
  /** Title of the area, as in the docs. */
  readonly group: string;
  /** The kind of value, in words. */
  readonly type: string;
  /** null when unset; `***` for a secret that is set. */
  readonly value: SettingValue;
  /** null when there is none, or it is not a constant. */
  readonly default: SettingValue;
  /** The default in words, when it is not a constant. */
  readonly default_text: string | null;
  readonly source: 'default' | 'environment';
  readonly secret: boolean;
  readonly unit: string | null;
  readonly doc: string;
}

const MASK = '***';

/** Endings of setting names and the units they mean, the longest first. */
const UNITS: readonly (readonly [ending: string, unit: string])[] = [
  ['_BYTES_PER_SEC', 'bytes per second'],
  ['_PER_SEC', 'per second'],
  ['_PER_MINUTE', 'per minute'],
  ['_SECS', 'seconds'],
  ['_MS', 'milliseconds'],
  ['_BYTES', 'bytes'],
  ['_DAYS', 'days'],
  ['_BITS', 'bits'],
];

/** Parameters of database URLs that hold no secret; the value of any other parameter is masked. */
const OPEN_PARAMETERS: ReadonlySet<string> = new Set([
  'application_name',
  'host',
  'port',
  'sslmode',
  'sslrootcert',
  'uselibpqcompat',
]);

/** @param env the environment that the gateway was started with, in which every setting is valid */
export function settingsInForce(env: (name: string) => string | undefined): readonly SettingInForce[] {
  const textOf = (name: string): string => env(name)?.trim() ?? '';
  const rows = Object.entries<Setting<unknown>>(SETTINGS);
  const without = { workers: 1, hasTls: false };
  const values = Object.fromEntries(rows.map(([name, row]) => [name, valueOf(row, textOf(name), without)]));
  const facts = shareFacts(values as unknown as SettingValues);
  return SETTING_AREAS.flatMap(({ title, settings }) =>
    Object.entries(settings).map(([name, row]) => inForce(name, title, row, textOf(name), facts)),
  );
}

function valueOf(row: Setting<unknown>, text: string, facts: ShareFacts): unknown {
  const parsed = text === '' ? undefined : row.parse(text);
  if (parsed !== undefined && 'value' in parsed) return parsed.value;
  return row.defaultFor === undefined ? row.default : row.defaultFor(facts);
}

function inForce(
  name: string,
  group: string,
  row: Setting<unknown>,
  text: string,
  facts: ShareFacts,
): SettingInForce {
  const value = valueOf(row, text, facts);
  return {
    name,
    group,
    type: row.type,
    value: row.secret && value !== undefined ? MASK : presented(value),
    default: presented(valueOf(row, '', facts)),
    default_text: row.defaultText ?? null,
    source: text === '' ? 'default' : 'environment',
    secret: row.secret,
    unit: UNITS.find(([ending]) => name.endsWith(ending))?.[1] ?? null,
    doc: row.description,
  };
}

function presented(value: unknown): SettingValue {
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'string' ? withoutCredentials(value) : (value as number | boolean);
}

/**
 * A URL without its user information and without the values of parameters that may be secret. A password that is not
 * percent-encoded may itself have `/`, `?` or `@`, so everything up to the last `@` is masked.
 */
function withoutCredentials(text: string): string {
  if (!/^(?!sqlite:|file:)[a-z][a-z0-9+.-]*:/i.test(text)) return text;
  return text
    .replace(/\/\/.*@/s, `//${MASK}@`)
    .replaceAll(/([?&#])([^=&#]*)=([^&#]*)/g, (whole, mark: string, name: string) =>
      OPEN_PARAMETERS.has(name) ? whole : `${mark}${name}=${MASK}`,
    );
}
