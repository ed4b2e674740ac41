/**
 * Runs the operations of one transaction: checks that need no database first, then each with its own handler, until
 * one fails. Failures name the operation and point into the transaction's body.
 */
import { SecretKeyMissing, UniqueViolation } from '../../storage/storage-errors.ts';
import type { ErrorCode, FieldError } from '../../model/errors.ts';
import { checkAccess, refusedSecret } from '../access/dry-run-role.ts';
import { checkBody } from '../api/body.ts';
import { conflict, fail, invalid, isFailure, type Answer, type Failure } from '../api/failure.ts';
import type { Call, Operation } from '../api/operation.ts';
import { parseQuery } from '../api/query.ts';
import type { TransactionAnswer, TransactionOperation } from '../schemas/transaction.ts';
import type { MatchedOperation, MatchOperation } from './match-operation.ts';
import { referenceErrors, resolveBody, resolvePath, type IdCheck } from './answer-references.ts';

/** Characters of all answers together: reads of large records could make them any size. */
const ANSWER_CHARS_MAX = 32 * 1024 * 1024;
/** Limit of a path in the detail of an error. */
const PATH_SHOWN_CHARS_MAX = 200;

/** Finds operations; one that cannot be part of a transaction is a failure. */
export function memberMatcher(members: MatchOperation, all: MatchOperation): MatchOperation {
  return (method, target) => {
    const member = members(method, target);
    if (!isFailure(member)) return member;
    const other = all(method, target);
    if (isFailure(other)) return other;
    const detail = `The operation ${other.operation.operationId} cannot be part of a transaction`;
    return fail('validation_failed', detail);
  };
}

/** Errors of the ids and references of a transaction, before anything is done. */
export function planErrors(operations: readonly TransactionOperation[]): FieldError[] {
  const places = new Map<string, number>();
  const errors: FieldError[] = [];
  for (const [index, { id }] of operations.entries()) {
    if (id === undefined) continue;
    const first = places.get(id);
    if (first === undefined) places.set(id, index);
    else {
      const detail = `"${id}" is already the id of operation ${first}`;
      errors.push({ pointer: `/operations/${index}/id`, detail });
    }
  }
  for (const [index, { path, body }] of operations.entries()) {
    const check: IdCheck = (id) => {
      const place = places.get(id);
      if (place === undefined) return `refers to "${id}", but no operation has this id`;
      if (place < index) return undefined;
      return `refers to "${id}", which is operation ${place}; only earlier ones have an answer`;
    };
    const at = `/operations/${index}`;
    for (const { pointer, detail } of referenceErrors({ path, ...(body !== undefined && { body }) }, check)) {
      errors.push({ pointer: at + pointer, detail });
    }
  }
  return errors;
}

export interface OperationRun {
  readonly match: MatchOperation;
  /** The call of the transaction. */
  readonly call: Call;
  /** Called before each operation other than GET. */
  readonly beforeWrite?: (params: Call['params'], index: number) => Promise<void>;
}

/** @returns the answer of each operation, or the failure of the first that fails */
export async function runOperations(
  operations: readonly TransactionOperation[],
  run: OperationRun,
): Promise<TransactionAnswer[] | Failure> {
  const answers: TransactionAnswer[] = [];
  const records = new Map<string, unknown>();
  let characters = 0;
  for (const [index, operation] of operations.entries()) {
    const done = await runOne(operation, index, records, run);
    if (isFailure(done)) return placed(done, operation, index);
    const { answer, matched } = done;
    const body = typeof answer.body === 'object' ? answer.body : null;
    characters += JSON.stringify(body).length;
    if (characters > ANSWER_CHARS_MAX) {
      const detail = `The answers would have more than ${ANSWER_CHARS_MAX} characters; send fewer operations`;
      return placed(fail('validation_failed', detail), operation, index);
    }
    if (operation.id !== undefined && body !== null && 'data' in body) records.set(operation.id, body.data);
    answers.push({
      id: operation.id ?? null,
      operation: matched.operation.operationId,
      status: answer.status,
      etag: answer.headers['ETag'] ?? null,
      location: answer.headers['Location'] ?? null,
      body,
    });
  }
  return answers;
}

interface Done {
  readonly answer: Answer;
  readonly matched: MatchedOperation;
}

async function runOne(
  { method, path, body, if_match: ifMatch }: TransactionOperation,
  index: number,
  records: ReadonlyMap<string, unknown>,
  { match, call, beforeWrite }: OperationRun,
): Promise<Done | Failure> {
  const target = resolvePath(path, records);
  if ('error' in target) return invalid([{ pointer: '/path', detail: target.error }]);
  const matched = match(method, target.value);
  if (isFailure(matched)) return ofPath(matched);
  const { operation, params } = matched;
  const forbidden = checkAccess(call.actor, operation, call.query['dry_run'] === true);
  if (forbidden !== undefined) return ofOperation(forbidden);
  const query = parseQuery(matched.query, operation.query);
  if (isFailure(query)) return ofPath(query);
  if (query['dry_run'] === true) {
    return invalid([
      { pointer: '/path', detail: 'has dry_run, which can only be set for the transaction as a whole' },
    ]);
  }
  const resolved = body === undefined ? { value: undefined } : resolveBody(body, records);
  if ('errors' in resolved) return ofOperation(invalid(resolved.errors));
  const wrong =
    (operation.body === undefined ? undefined : checkBody(operation.body, resolved.value)) ??
    refusedSecret(call.actor, operation, resolved.value);
  if (wrong !== undefined) return ofOperation(wrong);
  const nested: Call = { ...call, params, query, body: resolved.value, ifMatch, ifNoneMatch: undefined };
  if (method !== 'GET') await beforeWrite?.(params, index);
  const answer = await handled(operation, nested);
  return isFailure(answer) ? ofOperation(answer) : { answer, matched };
}

/** An error of the database is a failure of the operation, as for a single operation. */
async function handled(operation: Operation, call: Call): Promise<Answer | Failure> {
  try {
    return await operation.handle(call);
  } catch (error) {
    if (error instanceof SecretKeyMissing) return fail('validation_failed', error.message);
    if (error instanceof UniqueViolation) return conflict(`/${error.field}`, 'is already taken');
    throw error;
  }
}

/** A failure of the path, with a pointer that begins at the operation. */
function ofPath(failure: Failure): Failure {
  return { ...failure, errors: [{ pointer: '/path', detail: failure.detail }] };
}

/** The failure of a handler, with pointers that begin at the operation. */
function ofOperation(failure: Failure): Failure {
  const { errors, detail, failure: code } = failure;
  if (errors !== undefined) {
    return { ...failure, errors: errors.map((error) => ({ ...error, pointer: `/body${error.pointer}` })) };
  }
  const pointer = POINTERS[code] ?? '/path';
  return { ...failure, errors: [{ pointer, detail }] };
}

/** What failures without field errors are about; all others are about the path. */
const POINTERS: Readonly<Partial<Record<ErrorCode, string>>> = {
  precondition_failed: '/if_match',
  invalid_json: '/body',
  forbidden: '',
};

/** The failure of one operation as one of the transaction. */
function placed(failure: Failure, { id, method, path }: TransactionOperation, index: number): Failure {
  const name = id === undefined ? '' : ` "${id}"`;
  const errors = failure.errors ?? [{ pointer: '', detail: failure.detail }];
  return {
    ...failure,
    detail: `Operation ${index}${name} (${method} ${path.slice(0, PATH_SHOWN_CHARS_MAX)}): ${failure.detail}`,
    errors: errors.map((error) => ({ ...error, pointer: `/operations/${index}${error.pointer}` })),
  };
}
