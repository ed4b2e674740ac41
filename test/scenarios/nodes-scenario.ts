/**
 * Writes through alternating gateways while there is traffic through all of them: does every answer hold everywhere?
 */
import type { TestGateway } from '../support/gateway.ts';
import type { LeanClient } from '../support/clients/lean-client.ts';
import {
  readNumber,
  readNumberOn,
  traffic,
  WORKERS,
  writeNumber,
  type WriteAnswer,
} from '../support/nodes.ts';
import { connectionsToEachWorker } from '../support/clients/worker-connections.ts';
import { quantile } from '../support/measure/stats.ts';

export interface Alternation {
  readonly writes: number;
  /** Answers of any worker of any gateway, after a write was answered, that did not obey it. */
  readonly stale: number;
  /** Writes that were not answered 200 with all nodes applied. */
  readonly unapplied: readonly string[];
  /** Answers of 503, of a database that had no time; such a write is made again. */
  readonly refused: number;
  readonly requests: number;
  readonly failed: readonly string[];
  readonly writeMs: { readonly p50: number; readonly p99: number };
}

/** Of all writes. */
const REFUSED_MAX = 20;

/**
 * No other connections to the gateways may come or go when it begins.
 * @param pauseMs between two requests of a client
 * @param clients of the traffic through each gateway
 */
export async function alternate(
  nodes: readonly TestGateway[],
  writes: number,
  pauseMs = 2,
  clients = 1,
): Promise<Alternation> {
  const connections: LeanClient[] = [];
  for (const node of nodes) connections.push(...(await connectionsToEachWorker(node, WORKERS, 1)).flat());
  const load = traffic(nodes, pauseMs, clients);
  const unapplied: string[] = [];
  const took: number[] = [];
  let stale = 0;
  let refused = 0;
  const write = async (through: TestGateway, number: number): Promise<WriteAnswer> => {
    const answer = await writeNumber(through, number);
    if (answer.status !== 503 || refused === REFUSED_MAX) return answer;
    refused += 1;
    return write(through, number);
  };
  for (let number = 1; number <= writes; number++) {
    const through = nodes[number % nodes.length] as TestGateway;
    const { status, applied, tookMs } = await write(through, number);
    took.push(tookMs);
    if (status !== 200 || applied !== `${nodes.length}/${nodes.length}`)
      unapplied.push(`${status} ${applied}`);
    const seen = await Promise.all(connections.map(readNumberOn));
    stale += seen.filter((value) => value !== number).length;
  }
  const { requests, failed } = await load.stop();
  for (const connection of connections) connection.close();
  return { writes, stale, unapplied, refused, requests, failed, writeMs: percentiles(took) };
}

/** Milliseconds from the answer of a write that did not wait for the others until another gateway obeys it. */
export async function propagation(
  from: TestGateway,
  to: TestGateway,
  writes: number,
): Promise<{ readonly p50: number; readonly p99: number }> {
  const took: number[] = [];
  for (let number = 1; number <= writes; number++) {
    await writeNumber(from, number);
    const startedMs = performance.now();
    // Bounded: a change that never arrives is a figure beyond every target.
    while ((await readNumber(to)) !== number && performance.now() - startedMs < 10_000);
    took.push(performance.now() - startedMs);
  }
  return percentiles(took);
}

function percentiles(values: readonly number[]): { readonly p50: number; readonly p99: number } {
  return { p50: Math.round(quantile(values, 0.5)), p99: Math.round(quantile(values, 0.99)) };
}
