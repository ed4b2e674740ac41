/**
 * Several gateways that share a store of limits, each with the same app and the same ids: the database of the first one
 * is copied, so that the limits of all are the same ones, as with a database that they have in common.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Policy } from '../../src/policy/registry.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { createService } from './traffic.ts';

export interface LimitNodesOptions {
  /** Of the stores' URLs, one for each node. */
  readonly redisUrls: readonly string[];
  readonly originPort: number;
  /** One app for each, at `/<name>`. */
  readonly policies: Readonly<Record<string, Policy>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds by which the wall clock of each node is wrong. */
  readonly skewsMs?: readonly number[];
}

export interface LimitNodes {
  readonly gateways: readonly TestGateway[];
  close(): Promise<void>;
}

const SKEWED_CLOCK = resolve(import.meta.dirname, 'measure/skewed-clock.cjs');

export async function startLimitNodes(options: LimitNodesOptions): Promise<LimitNodes> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-nodes-'));
  const folderOf = (index: number): string => join(folder, `node-${index}`);
  const gateways: TestGateway[] = [];
  try {
    for (const [index, redisUrl] of options.redisUrls.entries()) {
      mkdirSync(folderOf(index));
      if (index > 0) copyRecords(folderOf(0), folderOf(index));
      const skewMs = options.skewsMs?.[index] ?? 0;
      const env = {
        GATEWAY_REDIS_URL: redisUrl,
        GATEWAY_LOG__ACCESS: 'false',
        ...(skewMs !== 0 && {
          NODE_OPTIONS: `--require=${SKEWED_CLOCK}`,
          TEST_CLOCK_SKEW_MS: String(skewMs),
        }),
        ...options.env,
      };
      const gateway = await startGateway({ folder: folderOf(index), env });
      gateways.push(gateway);
      if (index === 0) await makeRecords(gateway, options);
    }
  } catch (error) {
    await closeAll(gateways, folder);
    throw error;
  }
  return { gateways, close: () => closeAll(gateways, folder) };
}

async function makeRecords(gateway: TestGateway, options: LimitNodesOptions): Promise<void> {
  for (const [slug, policy] of Object.entries(options.policies)) {
    await createService(gateway, slug, options.originPort, { app: { default_policy: policy } });
  }
}

/** Of a gateway that is running. */
function copyRecords(from: string, to: string): void {
  using db = new DatabaseSync(join(from, 'headgate.db'), { readOnly: true });
  db.prepare('vacuum into ?').run(join(to, 'headgate.db'));
  const key = 'secret-key';
  if (existsSync(join(from, key))) copyFileSync(join(from, key), join(to, key));
}

async function closeAll(gateways: readonly TestGateway[], folder: string): Promise<void> {
  await Promise.all(gateways.map((gateway) => gateway.kill()));
  rmSync(folder, { recursive: true, force: true });
}
