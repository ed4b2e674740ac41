/**
 * How transactions on Postgres begin. Time-outs are set per transaction, as a pooler between here and the server may
 * hand out other sessions; they are for the server, in case that the end of the connection does not reach it.
 */

export interface TransactionTimeouts {
  /** For one statement. */
  readonly statementMs: number;
  /** For a lock that others hold. */
  readonly lockMs: number;
  /** Between two statements. */
  readonly idleMs: number;
}

/** Statements separated by semicolons, as is the next one: a transaction that sees one state of the database. */
export function beginRead(timeouts: TransactionTimeouts): string {
  return ['begin isolation level repeatable read read only', ...setTimeouts(timeouts)].join('; ');
}

/** With the row lock everything after it sees what the transactions before it have committed. */
export function beginWrite(timeouts: TransactionTimeouts): string {
  return [
    'begin isolation level read committed read write',
    ...setTimeouts(timeouts),
    // Acknowledged means durable, whatever the server's default; what is stricter than `on` stays.
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
