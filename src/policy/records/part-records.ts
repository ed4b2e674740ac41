/**
 * What a part has to do with records and settings beside policies: API keys, files with trusted certificates, limits of
 * the settings. Code outside of src/policy/ goes over the registry and asks.
 */
import type { TSchema } from 'typebox';
import type { PolicyValues } from '../../model/policy.ts';
import type { AppName, StoredApiKey } from '../../model/resources.ts';
import type { Warning } from '../../model/warnings.ts';
import type { LimitSettings } from '../dependencies.ts';

/** What the part makes of an API key. */
export interface PartOfKeys<Value> {
  /** True where callers send API keys. */
  takesKeys?(policy: PolicyValues): boolean;
  /** What the key has in place of the part; undefined: the part applies. */
  valueFor?(key: StoredApiKey): Value | undefined;
  /** Whether the caller of the key may pass. @param value undefined where no level has the part */
  admits?(value: Value | undefined, key: StoredApiKey): boolean;
  /** What the write of a key is warned of, by the policy of its app alone. */
  warnings?(value: Value | undefined, key: StoredApiKey, view: KeyView): Promise<readonly Warning[]>;
}

interface KeyView {
  readonly app: AppName;
  /** Of the app. */
  readonly policy: PolicyValues;
  /** undefined: there are too many keys to tell. */
  someKeyHasScopes(scopes: readonly string[]): Promise<boolean | undefined>;
}

/** Files that client certificates are verified with. */
export interface TrustedFiles {
  /** Name of the certificates. */
  readonly ca: string;
  readonly needsLists: boolean;
}

/** What the settings give in place of the part, or beside it. */
export interface PartOfSettings<Value> {
  /** Of the value, as it is served. */
  readonly schema: TSchema;
  /** What applies where no level has the part; undefined: nothing. */
  of(settings: LimitSettings): Value | undefined;
  /** A limit that applies beside the part, whatever the levels say. */
  readonly beside?: {
    readonly name: string;
    readonly schema: TSchema;
    of(settings: LimitSettings): unknown;
  };
}
