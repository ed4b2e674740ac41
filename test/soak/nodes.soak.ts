/**
 * Two and three gateways on one PostgreSQL database under load: 1,000 writes through alternating gateways, each of
 * which all of them must obey when it is answered; and how long a write takes to reach the others when its answer does
 * not wait for them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TestGateway } from '../support/gateway.ts';
import { alternate, propagation } from '../scenarios/nodes-scenario.ts';
import { makeService, startNode, traffic } from '../support/nodes.ts';
import { startOrigin } from '../support/backends/origin.ts';
import { startPostgres } from '../support/programs/postgres.ts';

const WRITES = 1_000;
const TIMED_WRITES = 300;
/** Each sends its next request when it has the answer. */
const CLIENTS_PER_GATEWAY = 8;
/**
 * From the answer of a write that did not wait for the others to the first request of another gateway that obeys it.
 */
const PROPAGATION_MS_MAX = 100;

it.each([2, 3])(
  '%i gateways obey every write when it is answered',
  async (count) => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-nodes-soak-'));
    const server = await startPostgres();
    const origin = await startOrigin(({ url }, response) => {
      origin.seen.length = 0;
      response.end(JSON.stringify({ url }));
    });
    const url = await server.createDatabase();
    const start = (name: string, env?: Record<string, string>): Promise<TestGateway> =>
      startNode({ url, folder, name, ...(env && { env }) });
    const nodes: TestGateway[] = [];
    try {
      for (let number = 1; number <= count; number++) nodes.push(await start(`node-${number}`));
      const [first, second] = nodes as [TestGateway, TestGateway];
      await makeService(first, origin);
      const { unapplied, failed, ...result } = await alternate(nodes, WRITES, 0, CLIENTS_PER_GATEWAY);
      const hasty = await start('hasty', { GATEWAY_CLUSTER__WRITE_WAIT_MS: '0' });
      nodes.push(hasty);
      const load = traffic([first, second], 20);
      const propagated = await propagation(hasty, second, TIMED_WRITES);
      const { failed: failedMeanwhile } = await load.stop();
      process.stdout.write(`${count} gateways: ${JSON.stringify({ ...result, propagated })}\n`);
      expect({ ...result, unapplied, failed }).toMatchObject({
        stale: 0,
        refused: 0,
        unapplied: [],
        failed: [],
      });
      expect(failedMeanwhile).toEqual([]);
      expect(propagated.p99).toBeLessThanOrEqual(PROPAGATION_MS_MAX);
    } finally {
      for (const node of nodes) await node.stop();
      await server.stop();
      await origin.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  600_000,
);
