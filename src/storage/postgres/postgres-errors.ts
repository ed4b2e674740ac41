/**
 * Classifies Postgres's SQLSTATE codes (PostgreSQL documentation, appendix A) and connection failures: a duplicate, an
 * unavailable database, a transaction that may be retried, or a programmer error, which is returned unchanged.
 */
import { connectionText } from '../../lib/error-message.ts';
import {
  StatementRefused,
  StorageUnavailable,
  UniqueViolation,
  unusableDatabase,
} from '../storage-errors.ts';
import { UNIQUE_CONSTRAINTS } from '../sql/kysely-tables.ts';

const UNIQUE_VIOLATION = '23505';
/**
 * Of a statement that writes on a standby or in a read-only transaction; and of the beginning of a transaction that
 * says that it writes, on a standby.
 */
const READ_ONLY: ReadonlySet<string> = new Set(['25006', '0A000']);
/** Serialization failure and deadlock: the database has rolled back. */
const TRY_AGAIN: ReadonlySet<string> = new Set(['40001', '40P01']);

export const LACKS_PRIVILEGE = 'the user lacks a privilege in it';

/** Codes, or their classes (two characters), whose cause is the database and not the statement. */
const UNAVAILABLE: ReadonlyMap<string, string> = new Map([
  ['08', 'the connection to it failed'],
  ['28', 'it refuses the user or the password'],
  ['3D', 'it has no such database'],
  ['53', 'it is out of resources or of connections'],
  ['53100', 'its disk is full'],
  ['57', 'it was stopped, or took too long'],
  ['58', 'its system failed'],
  ['XX', 'it is damaged'],
  ['25006', 'it is read-only'],
  ['0A000', 'it is a standby, or lacks a feature that is needed'],
  ['25P03', 'the transaction was idle for too long'],
  ['25P04', 'the transaction took too long'],
  ['40', 'transactions conflicted with each other too often'],
  ['42501', LACKS_PRIVILEGE],
  ['42P01', 'a table is missing'],
  ['42703', 'a column is missing'],
  // Of ON CONFLICT, which needs a unique index.
  ['42P10', 'an index is missing'],
  ['55P03', 'another transaction holds a lock on it'],
  ['57014', 'it took too long'],
]);

/** Those of `UNAVAILABLE` that are about what a statement needs, and last until an operator has changed something. */
const LASTING = /^(?:53100|58|XX|42501|42P01|42703|42P10)/;

interface ServerError extends Error {
  readonly code: string;
  readonly severity: string;
  readonly table?: string;
  readonly constraint?: string;
}

/** True if the server itself sent the error. */
function isServerError(error: unknown): error is ServerError {
  return error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string';
}

/** True if the transaction was rolled back only because of other transactions. */
export function mayTryAgain(error: unknown): boolean {
  return isServerError(sourceOf(error)) && TRY_AGAIN.has((sourceOf(error) as ServerError).code);
}

/** True if the server's answer shows that the transaction is rolled back. */
export function isRefusal(error: unknown): boolean {
  return isServerError(error) && error.severity === 'ERROR';
}

/** True if the connection must be closed: it is lost, or the server has become a standby. */
export function endsConnection(error: unknown): boolean {
  return !isServerError(error) || error.severity !== 'ERROR' || READ_ONLY.has(error.code);
}

/** The SQLSTATE of the error or of its cause; undefined if the error did not come from the server. */
export function sqlState(error: unknown): string | undefined {
  const source = sourceOf(error);
  return isServerError(source) ? source.code : undefined;
}

/** Returns a `UniqueViolation`, a `StorageUnavailable`, or the error itself. */
export function mapPostgresError(error: unknown): unknown {
  if (error instanceof StorageUnavailable) return error;
  if (!isServerError(error)) {
    const text = error instanceof Error ? failureText(error) : String(error);
    return unusableDatabase(`the connection to it failed (${text})`, error);
  }
  if (error.code === UNIQUE_VIOLATION) return uniqueViolation(error);
  const reason = UNAVAILABLE.get(error.code) ?? UNAVAILABLE.get(error.code.slice(0, 2));
  if (reason === undefined) return error;
  const unusable = unusableDatabase(`${reason} (${error.message})`, error, reason);
  return LASTING.test(error.code) ? new StatementRefused(unusable.message, error, unusable) : unusable;
}

function sourceOf(error: unknown): unknown {
  return error instanceof StorageUnavailable ? error.cause : error;
}

const CA_SETTING = 'GATEWAY_DATABASE__CA_FILE';

/** Node.js reports the failure of several addresses as an error without a message. */
function failureText(error: Error): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((one) => connectionText(one, CA_SETTING)).join(', ');
  }
  return connectionText(error, CA_SETTING);
}

function uniqueViolation({ table = '', constraint = '' }: ServerError): UniqueViolation {
  const known = UNIQUE_CONSTRAINTS.find(({ index }) => index === constraint);
  return known === undefined
    ? new UniqueViolation(table, 'id')
    : new UniqueViolation(known.resource, known.field);
}
