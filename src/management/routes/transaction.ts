/**
 * `POST /api/v1/transaction`: a list of ordinary operations, all or none: one transaction of the database, one config
 * version, one check that the result compiles, one swap on all workers. Each operation runs by its own handler, with
 * its own schema, rules, warnings, role and audit entry.
 */
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { below, type Warning } from '../../model/warnings.ts';
import {
  OPERATIONS_MAX,
  TransactionResultSchema,
  TransactionSchema,
  type TransactionAnswer,
  type TransactionOperation,
} from '../schemas/transaction.ts';
import { answer, invalid, isFailure, type Answer, type Failure } from '../api/failure.ts';
import { Admission } from '../api/admission.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { DRY_RUN_QUERY } from '../api/query.ts';
import type { ManagementContext } from '../context.ts';
import { operationMatcher, type MatchOperation } from '../transaction/match-operation.ts';
import { inTransaction, nestedContext, type TransactionScope } from '../transaction/nested-context.ts';
import { memberMatcher, planErrors, runOperations } from '../transaction/run-operations.ts';
import { touchedTogether } from '../transaction/touched-together.ts';
import { transactionDryRun, withoutTokens } from '../transaction/transaction-dry-run.ts';
import type { WriteWork } from '../write/write.ts';
import { counted } from '../../lib/text/counted.ts';

/** A thousand operations with policies of some kilobytes. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;

/** Transactions that are received, wait or work at once. */
const TRANSACTIONS_MAX = 32;

const EXAMPLE = {
  operations: [
    {
      id: 'app',
      method: 'POST',
      path: '/api/v1/apps',
      body: { name: 'Billing', slug: 'billing', gateway_path: '/billing' },
    },
    { id: 'v1', method: 'POST', path: '/api/v1/apps/${app.id}/versions', body: { version: 'v1' } },
    {
      method: 'POST',
      path: '/api/v1/apps/${app.id}/versions/${v1.id}/revisions',
      body: { revision: 'r1', backend_host: '${app.slug}.internal', is_current: true },
    },
  ],
};

/**
 * @param others all other operations of the API, to distinguish one that does not exist from one that cannot
 * take part
 * @param membersOf creates the operations that can, for a context
 */
export function transactionOperation(
  context: ManagementContext,
  others: readonly Operation[],
  membersOf: (context: ManagementContext) => readonly Operation[],
): Operation {
  const members = operationMatcher(membersOf(nestedContext(context)));
  const match: MatchOperation = (method, target) => findMember(method, target);
  const operation: Operation = {
    method: 'POST',
    path: `${API_PREFIX}/transaction`,
    operationId: 'runTransaction',
    tag: 'Configuration',
    summary: 'Run several operations, all or none',
    description: `At most ${OPERATIONS_MAX} operations of this API, in order, in one config version. Operations on apps, versions, traffic, revisions, endpoints and tokens can take part. Each needs its usual role; a dry run needs the role \`viewer\`. Later operations can refer to the answers of earlier ones: \`\${app.id}\` in a path or a body is the \`id\` of the record in the answer of the operation with the id \`app\`; \`$\${\` stands for the text \`\${\`. If an operation fails, nothing is changed, and the answer is its error, with pointers that begin with \`/operations/<index>\`.`,
    access: 'viewer',
    query: DRY_RUN_QUERY,
    body: { schema: jsonSchema(TransactionSchema), required: true, mergePatch: false, example: EXAMPLE },
    bodyBytesMax: BODY_BYTES_MAX,
    admission: new Admission(TRANSACTIONS_MAX),
    entityTag: false,
    isWrite: true,
    success: {
      status: 200,
      description: 'The answer of each operation',
      schema: jsonSchema(envelopeSchema('TransactionEnvelope', TransactionResultSchema)),
    },
    failures: [
      'bad_request',
      'conflict',
      'forbidden',
      'has_children',
      'management_method_not_allowed',
      'not_found',
      'overloaded',
      'precondition_failed',
    ],
    handle: async (call) => {
      const { operations } = call.body as { readonly operations: readonly TransactionOperation[] };
      const wrong = planErrors(operations);
      if (wrong.length > 0) return invalid(wrong);
      return operations.every(({ method }) => method === 'GET')
        ? readAll(context, operations, match, call)
        : writeAll(context, operations, match, call);
    },
  };
  const findMember = memberMatcher(members, operationMatcher([...others, operation]));
  return operation;
}

/** A transaction that only reads sees one state of the database and does not wait for writes. */
async function readAll(
  context: ManagementContext,
  operations: readonly TransactionOperation[],
  match: MatchOperation,
  call: Call,
): Promise<Answer | Failure> {
  return context.repository.read(async (reader) => {
    const scope: TransactionScope = { reader, touched: [], warnings: [], operation: 0 };
    const answers = await inTransaction(scope, () => runOperations(operations, { match, call }));
    return isFailure(answers) ? answers : summary(answers);
  });
}

async function writeAll(
  context: ManagementContext,
  operations: readonly TransactionOperation[],
  match: MatchOperation,
  call: Call,
): Promise<Answer | Failure> {
  const dryRun = call.query['dry_run'] === true ? transactionDryRun() : undefined;
  const work: WriteWork = async (writer) => {
    const scope: TransactionScope = { reader: writer, writer, touched: [], warnings: [], operation: 0 };
    const beforeWrite = async (params: Call['params'], index: number): Promise<void> => {
      scope.operation = index;
      const created = new Set(scope.touched.flatMap(({ appIds }) => appIds));
      await dryRun?.beforeWrite(writer, params, created);
    };
    const answers = await inTransaction(scope, () => runOperations(operations, { match, call, beforeWrite }));
    if (isFailure(answers)) return answers;
    const warnings = await warningsOf(scope);
    const warned = answers.map((each, index) => withWarnings(each, warnings[index]));
    const result = summary(dryRun === undefined ? warned : warned.map(withoutTokens));
    const touched = touchedTogether(scope.touched);
    const all = warnings.flatMap((found, index) => below(`/operations/${index}/body`, found));
    if (scope.touched.length === 0) return { unchanged: result, warnings: () => all };
    return {
      answer: result,
      touched,
      warnings: () => all,
      audit: {
        action: 'transaction.run',
        resourceType: 'transaction',
        resourceId: call.requestId,
        resourceName: null,
        parents: {},
        change: { operations: operations.length, changes: scope.touched.length },
      },
    };
  };
  return context.write(call, work, dryRun?.dryRun);
}

function summary(answers: readonly TransactionAnswer[]): Answer {
  const count = answers.length;
  return answer(200, `${counted(count, 'operation')} done`, { operations: answers });
}

/** Warnings by index of the operation. */
async function warningsOf({ warnings }: TransactionScope): Promise<readonly (readonly Warning[])[]> {
  const found: Warning[][] = [];
  for (const { operation, find } of warnings) (found[operation] ??= []).push(...((await find()) ?? []));
  return Array.from(found, (each) => each ?? []);
}

/** An operation gives the same answer as outside of a transaction. */
function withWarnings(
  answered: TransactionAnswer,
  warnings: readonly Warning[] | undefined,
): TransactionAnswer {
  const { body } = answered;
  return warnings === undefined || warnings.length === 0 || body === null
    ? answered
    : { ...answered, body: { ...body, warnings } };
}
