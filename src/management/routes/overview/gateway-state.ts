/** `GET /api/v1/state`: database, limit store, counters, certificates and breakers of all gateways. */
import { jsonSchema } from '../../../model/json-schema.ts';
import { answer } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import type { DatabaseProblem } from '../../database-check.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { StateSchema, type NodeState } from '../../schemas/overview/state-schema.ts';

export function stateOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/state`,
    operationId: 'getState',
    tag: 'Service',
    summary: 'Database, store of limits, counters, certificates and circuit breakers of all gateways',
    description:
      'Other gateways with the same database have half a second to answer. A gateway that does not answer has no state.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'The state of each gateway, beginning with this one',
      schema: jsonSchema(envelopeSchema('StateEnvelope', StateSchema)),
    },
    failures: [],
    handle: async () => {
      const [states, problem] = await Promise.all([context.status.states(), context.database.problem()]);
      return answer(
        200,
        'State of the gateways',
        states.map((each) => withProblem(each, problem)),
      );
    },
  };
}

/** This gateway has also tried to write, so it knows more about its database than whether it answers. */
function withProblem(node: NodeState, problem: DatabaseProblem | undefined): NodeState {
  if (!node.is_self || node.state === null || problem === undefined) return node;
  if (node.state.database.driver === 'none') return node;
  const database = { ...node.state.database, state: problem.db, detail: problem.detail ?? problem.reason };
  return { ...node, state: { ...node.state, database } };
}
