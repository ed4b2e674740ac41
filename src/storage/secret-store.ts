/** The encrypted values of a database: which key each of them needs, and how they get another one. */

/** What encrypted values belong to. */
export type SealedPlace = 'policies' | 'history' | 'webhooks' | 'certificates';

/**
 * `current`: encrypted with the first key. `other`: with another key that this gateway has. `unreadable`: with a key
 * that it does not have, or damaged. `plain`: not encrypted, by an older version.
 */
export type SealedState = 'current' | 'other' | 'unreadable' | 'plain';

export interface SealedCount {
  readonly place: SealedPlace;
  /** The key that the values need; undefined if they are not in the format of encrypted values. */
  readonly keyId: string | undefined;
  readonly state: SealedState;
  readonly count: number;
}

export interface SecretStore {
  /** The source of the keys, for messages. */
  readonly keyName: string;
  /** The first one encrypts, all decrypt; empty if there is no key. */
  readonly keyIds: readonly string[];
  /** In a fixed order. Reads the whole database, a page at a time. */
  count(): Promise<readonly SealedCount[]>;
  /**
   * Encrypts every value that needs another key, or is plain, with the first one. Works a page at a time, each in one
   * transaction, so that other writes go on; after a failure the rest can be done by another call.
   * @returns how many values got the first key, or why nothing was begun
   */
  rekey(): Promise<{ readonly rekeyed: number } | { readonly refused: string }>;
  /**
   * Encrypts what an older version stored as it is. A gateway of such a version that still runs could not read it any
   * more. Absent where gateways share the database: `rekey` does it there.
   */
  readonly sealPlain?: () => Promise<void>;
}
