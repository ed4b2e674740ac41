/**
 * Changes of a configuration at a given rate while the gateway is under full load: writers that each own some
 * resources change them one after the other, and ask on a connection to every worker whether the change is there as
 * soon as it has been answered. What the load itself saw is judged by generation-load-process.ts.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { WRITERS, type WriterTools } from './config-churn-writers.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { GenerationLoad } from './generation-load.ts';
import type { LoadReport } from './generation-load-process.ts';
import type { LeanClient } from '../support/clients/lean-client.ts';
import { connectionsToEachWorker } from '../support/clients/worker-connections.ts';
import { quantile } from '../support/measure/stats.ts';

export interface Churn {
  readonly changes: number;
  readonly changesPerSecond: number;
  /** Of the load, each with one request at a time. */
  readonly connections: number;
  readonly workers: number;
}

export interface ChurnOutcome {
  /** Changes that were answered with success. */
  readonly changes: number;
  readonly elapsedMs: number;
  /** How long the answers of changes took, in milliseconds, ascending. */
  readonly changeMs: readonly number[];
  /** Requests that asked for a change right after its answer. */
  readonly probes: number;
  /** Changes that failed, or that a worker did not obey. */
  readonly failures: readonly string[];
  readonly load: LoadReport;
}

/** For people. */
export function churnFigures({ changes, elapsedMs, changeMs, probes, load }: ChurnOutcome): object {
  return {
    changes,
    seconds: elapsedMs / 1000,
    changeMedianMs: quantile(changeMs, 0.5),
    changeP99Ms: quantile(changeMs, 0.99),
    probes,
    exchanges: load.exchanges,
    refusedForScope: load.refused,
    generationsSeen: load.generations,
  };
}

class Finished extends Error {}

export async function configChurn(churn: Churn): Promise<ChurnOutcome> {
  const load = await GenerationLoad.open();
  const env = { GATEWAY_WORKERS: String(churn.workers), GATEWAY_LOG__ACCESS: 'false' };
  const gateway = await startGateway({ env }).catch((error: unknown) => {
    load.close();
    throw error;
  });
  try {
    return await runChurn(churn, gateway, load);
  } finally {
    load.close();
    await gateway.stop();
  }
}

async function runChurn(churn: Churn, gateway: TestGateway, load: GenerationLoad): Promise<ChurnOutcome> {
  const outcome = { changes: 0, elapsedMs: 0, changeMs: [] as number[], probes: 0, failures: [] as string[] };
  const prepared = await Promise.all(WRITERS.map((make, index) => make(gateway, load.backendPort, index)));
  const connections = await connectionsToEachWorker(gateway, churn.workers, prepared.length);
  load.start(
    gateway.proxyPort,
    churn.connections,
    prepared.flatMap(({ requests }) => requests),
  );
  const pace = paced(churn);
  const startMs = performance.now();
  await Promise.all(
    prepared.map(async ({ run }, index) => {
      const tools = createTools(gateway, connections[index] as LeanClient[], pace, outcome);
      try {
        await run(tools);
      } catch (error) {
        if (!(error instanceof Finished)) outcome.failures.push(String(error));
      }
    }),
  );
  outcome.elapsedMs = performance.now() - startMs;
  outcome.changeMs.sort((left, right) => left - right);
  const report = await load.stop();
  for (const client of connections.flat()) client.close();
  return { ...outcome, load: report };
}

/** Gives out the moments of the changes; throws `Finished` when there are no more. */
function paced({ changes, changesPerSecond }: Churn): () => Promise<void> {
  const startMs = performance.now();
  let given = 0;
  return async () => {
    if (given === changes) throw new Finished();
    const dueMs = startMs + (given++ * 1000) / changesPerSecond;
    const earlyMs = dueMs - performance.now();
    if (earlyMs > 1) await pause(earlyMs);
  };
}

function createTools(
  gateway: TestGateway,
  connections: readonly LeanClient[],
  pace: () => Promise<void>,
  outcome: { changes: number; changeMs: number[]; probes: number; failures: string[] },
): WriterTools {
  return {
    write: async (method, path, body) => {
      await pace();
      const startMs = performance.now();
      const data: unknown = await gateway.must(method, path, body);
      outcome.changeMs.push(performance.now() - startMs);
      outcome.changes += 1;
      return data;
    },
    probe: async (request, look) => {
      const responses = await Promise.all(connections.map((client) => client.ask(request)));
      outcome.probes += responses.length;
      for (const response of responses) {
        const wrong = look(response);
        if (wrong !== undefined) outcome.failures.push(wrong);
      }
    },
  };
}
