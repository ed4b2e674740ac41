/**
 * A management context whose reads and writes all happen in the transaction that is under way: the operations' own
 * handlers run on it, so that they check, warn and answer exactly as they do alone. The operations are built once;
 * which transaction they work in follows the asynchronous call, as its deadline budget does.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { assert } from '../../lib/assert.ts';
import type { ChangeSet } from '../../model/config.ts';
import type { ConfigReader, ConfigWriter } from '../../storage/repository.ts';
import { isFailure } from '../api/failure.ts';
import type { ManagementContext } from '../context.ts';
import { answerOf, auditEntry, type FindWarnings, type WriteOrigin, type WriteWork } from '../write/write.ts';

/** One transaction under way. */
export interface TransactionScope {
  readonly reader: ConfigReader;
  /** Absent: the transaction only reads. */
  readonly writer?: ConfigWriter;
  /** The change set of each write so far. */
  readonly touched: ChangeSet[];
  /** Called when all operations are done. */
  readonly warnings: { readonly operation: number; readonly find: FindWarnings }[];
  /** Index of the operation that is being done. */
  operation: number;
}

const underWay = new AsyncLocalStorage<TransactionScope>();

/** Runs `work`, in which the operations of a nested context work in this transaction. */
export function inTransaction<T>(scope: TransactionScope, work: () => Promise<T>): Promise<T> {
  return underWay.run(scope, work);
}

export function nestedContext(context: ManagementContext): ManagementContext {
  const write = async (origin: WriteOrigin, work: WriteWork) => {
    const { writer, touched, warnings } = current();
    assert(writer !== undefined, 'a transaction that only reads has no operation that writes');
    const result = await work(writer);
    if (isFailure(result)) return result;
    if (result.warnings !== undefined)
      warnings.push({ operation: current().operation, find: result.warnings });
    if ('touched' in result) {
      touched.push(result.touched);
      await writer.appendAudit(auditEntry(origin, result.audit, context.clock.nowMs()));
    }
    return answerOf(result);
  };
  return {
    ...context,
    repository: { read: (work) => work(current().reader) },
    write,
    change: write,
  };
}

function current(): TransactionScope {
  const scope = underWay.getStore();
  assert(scope !== undefined, 'an operation of a transaction runs within it');
  return scope;
}
