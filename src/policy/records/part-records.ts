/**
 * How a part relates to other records and to settings: API keys, files with trusted certificates, limits of the
 * settings. Code outside src/policy/ asks the registry.
 */
import type { TSchema } from 'typebox';
import type { PolicyValues } from '../../model/policy.ts';
import type { AppName, StoredApiKey } from '../../model/resources.ts';
import type { Warning } from '../../model/warnings.ts';
import type { LimitSettings } from '../dependencies.ts';

/** How the part applies to API keys. */
export interface PartOfKeys<Value> {
  /** True where callers send API keys. */
  takesKeys?(policy: PolicyValues): boolean;
  /** The key's own value of the part; undefined: the part of the policy applies. */
  valueFor?(key: StoredApiKey): Value | undefined;
  /** Whether the caller of the key may pass. @param value undefined where no level has the part */
  admits?(value: Value | undefined, key: StoredApiKey): boolean;
  /** Warnings about the write of a key, by the policy of its app alone. */
  warnings?(value: Value | undefined, key: StoredApiKey, view: KeyView): Promise<readonly Warning[]>;
}

interface KeyView {
  readonly app: AppName;
  /** The policy of the app. */
  readonly policy: PolicyValues;
  /** undefined when there are too many keys to check. */
  someKeyHasScopes(scopes: readonly string[]): Promise<boolean | undefined>;
}

/** Files that client certificates are verified with. */
export interface TrustedFiles {
  /** Name of the certificates. */
  readonly ca: string;
  readonly needsLists: boolean;
}

/** What the settings provide in place of the part, or in addition to it. */
export interface PartOfSettings<Value> {
  /** The schema of the value in answers. */
  readonly schema: TSchema;
  /** The value that applies when no level has the part; undefined when there is none. */
  of(settings: LimitSettings): Value | undefined;
  /** A limit that applies in addition to the part, whatever the levels say. */
  readonly beside?: {
    readonly name: string;
    readonly schema: TSchema;
    of(settings: LimitSettings): unknown;
  };
}
