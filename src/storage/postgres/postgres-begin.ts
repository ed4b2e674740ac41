/**
 * Statements that begin transactions on Postgres. Timeouts are set per transaction, since a pooler may hand out
 * different sessions. The server enforces them, in case it does not notice that the connection is gone.
 */

export interface TransactionTimeouts {
  /** For one statement. */
  readonly statementMs: number;
  /** For a lock that others hold. */
  readonly lockMs: number;
  /** Between two statements. */
  readonly idleMs: number;
}

const READ = 'begin isolation level repeatable read read only';

/** Begins a transaction that sees one state of the database: statements separated by semicolons. */
export function beginRead(timeouts: TransactionTimeouts): string {
  return [READ, ...setTimeouts(timeouts)].join('; ');
}

/** Whether nothing can be stored by a transaction that begins so. */
export function isReadOnly(begin: string): boolean {
  return begin.startsWith(READ);
}

/** Takes the row lock, so that every later statement sees what earlier transactions have committed. */
export function beginWrite(timeouts: TransactionTimeouts): string {
  return [
    'begin isolation level read committed read write',
    ...setTimeouts(timeouts),
    // Acknowledged means durable, whatever the server's default. Stricter values than `on` stay.
    "select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'",
    'select config_version from config_state where id = 1 for update',
  ].join('; ');
}

function setTimeouts({ statementMs, lockMs, idleMs }: TransactionTimeouts): readonly string[] {
  return [
    `set local statement_timeout = ${statementMs}`,
    `set local lock_timeout = ${lockMs}`,
    `set local idle_in_transaction_session_timeout = ${idleMs}`,
  ];
}
