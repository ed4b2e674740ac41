/**
 * The errors that a repository throws, whichever database it uses. postgres/postgres-errors.ts and
 * sqlite/sqlite-errors.ts make them from what the databases report; the management API turns them into answers.
 */

/** The database refused a duplicate; `field` is the API's name of the field. */
export class UniqueViolation extends Error {
  readonly resource: string;
  readonly field: string;
  constructor(resource: string, field: string) {
    super(`Cannot write ${resource}: ${field} is already taken`);
    this.name = 'UniqueViolation';
    this.resource = resource;
    this.field = field;
  }
}

/** The database cannot be reached, is locked, full, read-only or corrupt: the API answers 503. */
export class StorageUnavailable extends Error {
  /** The reason without paths or hosts; undefined if unknown. */
  readonly reason: string | undefined;
  /** The message without the action that failed, for another message; undefined if it has another form. */
  readonly problem: string | undefined;
  constructor(message: string, cause?: unknown, { reason, problem }: StorageProblem = {}) {
    super(message, { cause });
    this.reason = reason;
    this.problem = problem;
    this.name = 'StorageUnavailable';
  }
}

interface StorageProblem {
  readonly reason?: string | undefined;
  readonly problem?: string | undefined;
}

/** @param reason as in `StorageUnavailable` */
export function unusableDatabase(problem: string, cause?: unknown, reason?: string): StorageUnavailable {
  return new StorageUnavailable(`Cannot use the database: ${problem}`, cause, { reason, problem });
}

/**
 * The database answers and refuses this statement, for a reason that lasts: it has no room, or a table is missing,
 * damaged or closed to the user. Statements that need less, or other tables, may still pass.
 */
export class StatementRefused extends StorageUnavailable {}

/** The connection was lost at a commit: the write may have been stored. */
export class OutcomeUnknown extends StorageUnavailable {
  constructor(cause: unknown) {
    super(
      'Cannot tell whether the write was stored: the connection to the database was lost before it answered; expected the caller to read before trying again',
      cause,
    );
  }
}

/**
 * The database answers but must not be used in its current state: the operator has to decide. No fallback replaces it.
 */
export class StorageRefused extends StorageUnavailable {}

/** The database exists on the server, but it has no tables of Headgate although some were expected. */
export class DatabaseEmpty extends StorageUnavailable {}

/** The database has an older schema, and may not be migrated. */
export class SchemaBehind extends StorageRefused {
  /** Without what to do. */
  readonly what: string;

  /**
   * @param database as messages name it
   * @param pending migrations that are not applied
   */
  constructor(database: string, pending: readonly string[]) {
    const what = `Cannot open ${database}: its schema is out of date (${pending.join(', ')} not applied)`;
    super(`${what}; run \`headgate migrate\`, or set GATEWAY_AUTO_MIGRATE=true`);
    this.what = what;
  }
}

/** A secret cannot be stored because there is no key. The message may be shown to the caller. */
export class SecretKeyMissing extends StorageRefused {}
