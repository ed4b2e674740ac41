/**
 * Several gateways that share a store of limits, each with the same app and the same ids: the database is made once and
 * copied, so that the limits of all are the same ones, as with a database that they have in common.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
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
  const template = join(folder, 'template');
  const gateways: TestGateway[] = [];
  try {
    await makeTemplate(template, options);
    for (const [index, redisUrl] of options.redisUrls.entries()) {
      const own = join(folder, `node-${index}`);
      cpSync(template, own, { recursive: true });
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
      gateways.push(await startGateway({ folder: own, env }));
    }
  } catch (error) {
    await closeAll(gateways, folder);
    throw error;
  }
  return { gateways, close: () => closeAll(gateways, folder) };
}

async function makeTemplate(folder: string, { originPort, policies }: LimitNodesOptions): Promise<void> {
  mkdirSync(folder);
  const gateway = await startGateway({ folder });
  for (const [slug, policy] of Object.entries(policies)) {
    await createService(gateway, slug, originPort, { app: { default_policy: policy } });
  }
  await gateway.stop();
}

async function closeAll(gateways: readonly TestGateway[], folder: string): Promise<void> {
  await Promise.all(gateways.map((gateway) => gateway.kill()));
  rmSync(folder, { recursive: true, force: true });
}
