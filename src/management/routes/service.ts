/**
 * The operations of the service itself: health (contract part 4), probes, metrics. Health and probes need no token
 * and show only whether the gateway works.
 */
import { Type } from 'typebox';
import { envelopeSchema, HealthSchema, ReadinessSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import type { ManagementContext } from '../context.ts';
import type { DatabaseProblem } from '../database-check.ts';
import { answer, type Answer } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';

export function serviceOperations(context: ManagementContext): Operation[] {
  return [health(context), liveness(), readiness(context), metrics(context)];
}

const common = { method: 'GET', tag: 'Service', query: NO_QUERY, entityTag: false, failures: [] } as const;

function health(context: ManagementContext): Operation {
  return {
    ...common,
    path: `${API_PREFIX}/health`,
    operationId: 'getHealth',
    summary: 'Health of the gateway and its database',
    access: 'public',
    degraded: 'The database does not answer, or cannot be written',
    success: {
      status: 200,
      description: 'Everything works',
      schema: jsonSchema(envelopeSchema('HealthEnvelope', HealthSchema)),
      example: { status: 200, message: 'ok', data: { db: 'ok', db_driver: 'sqlite', uptime_secs: 42 } },
    },
    handle: async () => {
      const problem = await problemOf(context);
      const file = context.status.configFile();
      const reason = problem?.reason ?? fileText(context) ?? context.status.clock() ?? 'ok';
      return answer(problem === undefined ? 200 : 503, reason, {
        db: problem?.db ?? 'ok',
        db_driver: context.status.dbDriver,
        uptime_secs: Math.floor(context.status.uptimeSecs()),
        ...(file !== undefined && { config_file: file.problem === undefined ? 'ok' : 'refused' }),
      });
    },
  };
}

function liveness(): Operation {
  return {
    ...common,
    path: '/healthz',
    operationId: 'getLiveness',
    summary: 'Liveness probe',
    access: 'public',
    success: {
      status: 200,
      description: 'The process answers',
      schema: jsonSchema(envelopeSchema('LivenessEnvelope', Type.Null())),
    },
    handle: async () => answer(200, 'alive', null),
  };
}

function readiness(context: ManagementContext): Operation {
  return {
    ...common,
    path: '/readyz',
    operationId: 'getReadiness',
    summary: 'Readiness probe',
    access: 'public',
    degraded: 'No worker serves, or the gateway is stopping',
    success: {
      status: 200,
      description:
        'Workers serve. `reason` says if they do so without the database or without the store of limits, while the database refuses writes or heartbeats, with a certificate that has expired or expires soon, with a clock that differs from that of the database, with secrets that cannot be decrypted, or with an earlier content of the configuration files',
      schema: readinessEnvelope,
    },
    handle: async (): Promise<Answer> => {
      const workers = context.status.ready();
      if (!workers.ready) return notReady(workers.reason ?? 'The workers do not serve yet');
      // Traffic is also served without the database, so an outage of the database must not take the gateway out of
      // service.
      const { status } = context;
      const database = await problemOf(context);
      const reasons = [
        database?.reason,
        database?.db === 'error' ? undefined : status.heartbeat(),
        fileText(context),
        status.clock(),
        status.secrets(),
        status.limits(),
        status.certificates(),
      ].filter((reason) => reason !== undefined);
      const reason = reasons.length > 0 ? reasons.join('. ') : null;
      return answer(200, 'ready', { ready: true, reason });
    },
  };
}

const readinessEnvelope = jsonSchema(envelopeSchema('ReadinessEnvelope', ReadinessSchema));

function notReady(reason: string): Answer {
  return answer(503, reason, { ready: false, reason });
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

function metrics(context: ManagementContext): Operation {
  return {
    ...common,
    path: '/metrics',
    operationId: 'getMetrics',
    summary: 'Metrics in the Prometheus text format',
    access: 'viewer',
    success: {
      status: 200,
      description: 'Prometheus text format 0.0.4',
      contentType: METRICS_TYPE,
      schema: { type: 'string' },
    },
    handle: async () => ({
      status: 200,
      headers: { 'Content-Type': METRICS_TYPE },
      body: await context.metricsText(),
    }),
  };
}

async function problemOf({ database, status }: ManagementContext): Promise<DatabaseProblem | undefined> {
  const problem = await database.problem();
  const fallback = problem?.db === 'error' ? status.fallback() : undefined;
  return fallback === undefined ? problem : { db: 'error', reason: fallback };
}

/** What is wrong with the configuration files, without their names; undefined when they are in force. */
function fileText({ status }: ManagementContext): string | undefined {
  const problem = status.configFile()?.problem;
  return (
    problem &&
    `The configuration file has been unusable since ${problem.since}; the previous configuration stays in force`
  );
}
