/** Several gateways on one Postgres database, a service behind them whose answers tell the config, and traffic. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway, type TestGateway } from './gateway.ts';
import type { LeanClient } from './clients/lean-client.ts';
import { startOrigin, type Origin } from './backends/origin.ts';
import { startPostgres, type PostgresServer } from './programs/postgres.ts';
import { createService, revisionPath } from './traffic.ts';
import { awakeMs } from './measure/steady.ts';

export const SECRET_KEY = '0123456789abcdef'.repeat(4);
export const NODES_APPLIED = 'headgate-nodes-applied';
/** Of each node: what one of them obeys, the others may not yet. */
export const WORKERS = 2;

/** What gateways on one database have in common. */
export interface NodesRig {
  readonly server: PostgresServer;
  readonly origin: Origin;
  /** For the files of all of them. */
  readonly folder: string;
  close(): Promise<void>;
}

export async function startNodesRig(): Promise<NodesRig> {
  // What a crash of the machine would cost is not looked at.
  const [server, origin] = await Promise.all([startPostgres('fsync=off'), startOrigin()]);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-nodes-'));
  const close = async (): Promise<void> => {
    await server.stop();
    await origin.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { server, origin, folder, close };
}

export interface NodeOptions {
  readonly url: string;
  readonly folder: string;
  readonly name: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function startNode({ url, folder, name, env }: NodeOptions): Promise<TestGateway> {
  return startGateway({
    folder,
    env: {
      GATEWAY_DATABASE_URL: url,
      GATEWAY_AUTO_MIGRATE: 'true',
      GATEWAY_SECRET_KEY: SECRET_KEY,
      GATEWAY_SNAPSHOT_FILE: join(folder, name, 'copy.snapshot'),
      GATEWAY_CLUSTER__NODE_NAME: name,
      GATEWAY_WORKERS: String(WORKERS),
      ...env,
    },
  });
}

/** The app `svc`, whose backend is told the number of the last write in its path. */
export async function makeService(node: TestGateway, origin: Origin): Promise<void> {
  await createService(node, 'svc', origin.port, { revision: { backend_base_path: '/w0' } });
}

export interface WriteAnswer {
  readonly status: number;
  /** Such as `2/2`; null when there is none. */
  readonly applied: string | null;
  readonly tookMs: number;
  /** The same without the time for which this process was held up. */
  readonly awakeMs: number;
}

/** Makes every request from now on arrive as `/w<number>`. */
export async function writeNumber(node: TestGateway, number: number): Promise<WriteAnswer> {
  const [startedMs, startedAwakeMs] = [performance.now(), awakeMs()];
  const answer = await node.api('PATCH', revisionPath('svc'), { backend_base_path: `/w${number}` });
  return {
    status: answer.status,
    applied: answer.headers.get(NODES_APPLIED),
    tookMs: performance.now() - startedMs,
    awakeMs: awakeMs() - startedAwakeMs,
  };
}

/** The number that a request through this node arrives with; throws unless it is answered 200. */
export async function readNumber(node: TestGateway): Promise<number> {
  const response = await fetch(`${node.proxy}/svc/v1/x`);
  return numberIn(response.status, await response.text());
}

/** The same on a connection that stands, and so through the worker that it ended up at. */
export async function readNumberOn(connection: LeanClient): Promise<number> {
  const { status, body } = await connection.ask('GET /svc/v1/x HTTP/1.1\r\nHost: gateway.test\r\n\r\n');
  return numberIn(status, body);
}

function numberIn(status: number, text: string): number {
  if (status !== 200) throw new Error(`a request was answered ${status}: ${text}`);
  const { url } = JSON.parse(text) as { url: string };
  return Number(/^\/w(\d+)\//.exec(url)?.[1]);
}

const REQUESTS_MAX = 2_000_000;

export interface Traffic {
  /** Ends it; the number of requests, and what went wrong. */
  stop(): Promise<{ readonly requests: number; readonly failed: readonly string[] }>;
}

/** Clients through each of the nodes, with requests one after the other and a short pause, until it is stopped. */
export function traffic(nodes: readonly TestGateway[], pauseMs = 10, clients = 1): Traffic {
  let stopped = false;
  let requests = 0;
  const failed: string[] = [];
  const everywhere = Array.from({ length: clients }, () => nodes).flat();
  const running = everywhere.map(async (node) => {
    while (!stopped && requests < REQUESTS_MAX) {
      requests += 1;
      await readNumber(node).catch((error: unknown) => failed.push(String(error)));
      if (pauseMs > 0) await pause(pauseMs);
    }
  });
  return {
    async stop() {
      stopped = true;
      await Promise.all(running);
      return { requests, failed };
    },
  };
}

/** The node's own list, by name. */
export async function listNodes(
  node: TestGateway,
): Promise<Record<string, { state: string; config_version: number }>> {
  const { nodes } = await node.must('GET', '/nodes');
  return Object.fromEntries(
    (nodes as { name: string; state: string; config_version: number }[]).map(
      ({ name, state, config_version }) => [name, { state, config_version }],
    ),
  );
}
