/** Connections of which it is known at which worker they ended up: the kernel chooses, the workers' gauges tell. */
import type { TestGateway } from '../gateway.ts';
import { LeanClient } from './lean-client.ts';
import { metric } from '../policies.ts';

/** Twenty times in a row on the same of two workers is once in a million. */
const ATTEMPTS_MAX_PER_CONNECTION = 20;
const NOWHERE = 'GET / HTTP/1.1\r\nHost: gateway.test\r\n\r\n';

/**
 * Sets of connections, each with one to every worker. Other connections must neither come nor go meanwhile.
 * @param workers numbered from 1, as after a start
 */
export async function connectionsToEachWorker(
  gateway: TestGateway,
  workers: number,
  sets: number,
): Promise<LeanClient[][]> {
  const found: LeanClient[][] = Array.from({ length: workers }, () => []);
  const spare: LeanClient[] = [];
  const counts = await workerCounts(gateway, workers);
  for (let attempt = 0; found.some((clients) => clients.length < sets); attempt++) {
    if (attempt > sets * workers * ATTEMPTS_MAX_PER_CONNECTION)
      throw new Error('The kernel gives one of the workers no connections');
    const client = await LeanClient.connect(gateway.proxyPort);
    await client.ask(NOWHERE);
    const now = await workerCounts(gateway, workers);
    const worker = now.findIndex((count, index) => count > (counts[index] ?? 0));
    counts.splice(0, counts.length, ...now);
    const clients = found[worker];
    if (clients === undefined) throw new Error('No worker counts the connection that it has answered on');
    (clients.length < sets ? clients : spare).push(client);
  }
  for (const client of spare) client.close();
  return Array.from({ length: sets }, (_each, set) => found.map((clients) => clients[set] as LeanClient));
}

/** Connections of each worker at this moment. */
export function workerCounts(gateway: TestGateway, workers: number): Promise<number[]> {
  const numbers = Array.from({ length: workers }, (_each, index) => String(index + 1));
  return Promise.all(numbers.map((worker) => metric(gateway, 'headgate_downstream_connections', { worker })));
}
