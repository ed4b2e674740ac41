/** `GET /api/v1/problems`: what is wrong now, in words, most severe first. */
import { envelopeSchema } from '../../schemas/envelope.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import type { ManagementContext } from '../../context.ts';
import { answer } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import { bySeverity, PROBLEMS, ProblemsSchema, type Problem } from '../../schemas/overview/problem-schema.ts';
import { counted } from '../../../lib/text/counted.ts';

export function problemsOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/problems`,
    operationId: 'listProblems',
    tag: 'Traffic',
    summary: 'What is wrong now',
    description:
      'Problems of this gateway and of its backends. Other gateways with the same database report their own problems.',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'Problems, most severe first; an empty list when there is none',
      schema: jsonSchema(envelopeSchema('ProblemsEnvelope', ProblemsSchema)),
      example: { status: 200, message: '1 problem', data: [EXAMPLE] },
    },
    failures: [],
    handle: async () => {
      const [database, others] = await Promise.all([databaseProblem(context), context.status.problems()]);
      // Without the database no heartbeat can be sent.
      const isAway = database.some(({ code }) => code === 'database_unavailable');
      const own = isAway ? others.filter(({ code }) => code !== 'heartbeat_failing') : others;
      const problems = bySeverity([...database, ...own]);
      const { length } = problems;
      return answer(200, counted(length, 'problem'), problems);
    },
  };
}

async function databaseProblem({ database, nodes, status }: ManagementContext): Promise<Problem[]> {
  const problem = await database.problem();
  if (problem === undefined || status.configFile() !== undefined) return [];
  const since = database.problemSinceMs;
  const code = problem.db === 'error' ? 'database_unavailable' : 'database_unwritable';
  const detail = `${problem.detail ?? problem.reason}. Traffic is served with the present configuration, which cannot be changed until the database works again`;
  return [
    {
      severity: 'critical',
      code,
      title: PROBLEMS[code],
      detail,
      since: since === undefined ? null : new Date(since).toISOString(),
      node: nodes.selfName,
      link: { kind: 'database' },
    },
  ];
}

const EXAMPLE: Problem = {
  severity: 'critical',
  code: 'breaker_open',
  title: PROBLEMS.breaker_open,
  detail:
    'The circuit breaker of revision r1 of billing v1 is open: cannot connect (ECONNREFUSED). Requests are answered with 503 until the backend works again',
  since: '2026-03-02T09:15:00.000Z',
  node: 'gateway-1:9090',
  link: { kind: 'revision', app: 'billing', version: 'v1', revision: 'r1' },
};
