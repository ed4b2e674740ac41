/**
 * What a change of many endpoints costs the requests of another app: how late they are answered while it is prepared.
 * Starts a gateway of its own with one worker, an app whose endpoints have policies of their own, and another app that
 * gets a request every few milliseconds; also asks the management API meanwhile, whose delays are those of the main
 * thread.
 *
 *   sh scripts/run.sh bench/large-change.ts [endpoints]
 *   Default: 10,000 endpoints.
 */
import { createServer, Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ADMIN_TOKEN, startGateway, WITH_SPARE, type TestGateway } from '../test/support/gateway.ts';

const TRAFFIC_MS = 2;
const MANAGEMENT_MS = 50;
const SETTLE_MS = 3_000;
const ROUNDS = 2;
const ADMIN = { Authorization: `Bearer ${ADMIN_TOKEN}` };
const [endpointCount = 10_000] = process.argv.slice(2).map(Number);

/** Sends requests at an interval, and returns the times until they were answered. */
function trafficTo(url: string, everyMs: number, headers = {}): { stop(): Promise<number[]> } {
  const agent = new Agent({ keepAlive: true });
  const times: number[] = [];
  let open = 0;
  const timer = setInterval(() => {
    const startedMs = performance.now();
    open += 1;
    const sent = request(url, { agent, headers }, (response) => {
      if (response.statusCode !== 200) throw new Error(`${url} was answered ${response.statusCode}`);
      response.resume().once('end', () => {
        times.push(performance.now() - startedMs);
        open -= 1;
      });
    });
    // An idle connection that the gateway has closed meanwhile.
    sent.once('error', () => (open -= 1));
    sent.end();
  }, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      while (open > 0) await pause(everyMs);
      agent.destroy();
      return times;
    },
  };
}

function described(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN).toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms of ${sorted.length}`;
}

async function measured(name: string, gateway: TestGateway, change?: () => Promise<unknown>): Promise<void> {
  const traffic = trafficTo(`${gateway.proxy}/small/v1/x`, TRAFFIC_MS);
  const management = trafficTo(`${gateway.base}/api/v1/apps/small`, MANAGEMENT_MS, ADMIN);
  await pause(200);
  const startedMs = performance.now();
  await (change?.() ?? pause(2_000));
  const tookMs = Math.round(performance.now() - startedMs);
  await pause(200);
  process.stdout.write(`${name}: ${tookMs} ms\n  traffic    ${described(await traffic.stop())}\n`);
  process.stdout.write(`  management ${described(await management.stop())}\n`);
  await pause(SETTLE_MS);
}

/** The declared configuration of the large app. @param limit of each endpoint's policy */
function declared(limit: number): object {
  const endpoints: Record<string, object> = {};
  for (let index = 0; index < endpointCount; index += 1) {
    endpoints[`GET /resources/${index}/{id}`] = {
      policy_override: {
        rate_limit: { enabled: true, requests: limit + index, window_seconds: 60, per: 'ip' },
        ip_access: { deny: [`198.51.100.${index % 256}`] },
        cors: { allowed_origins: [`https://app-${index}.example.com`] },
      },
    };
  }
  const revision = { backend_host: '127.0.0.1', backend_scheme: 'http', is_current: true, endpoints };
  const large = { gateway_path: '/large', versions: { v1: { revisions: { r1: revision } } } };
  return { owner: 'bench', apps: { large } };
}

const backend = createServer((_incoming, outgoing) => outgoing.end('ok'));
await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
const { port } = backend.address() as AddressInfo;
const gateway = await startGateway({ env: { ...WITH_SPARE } });
try {
  process.stdout.write(`${endpointCount} endpoints\n`);
  await gateway.must('POST', '/config/apply', { config: declared(1_000) });
  await gateway.must('POST', '/apps', { name: 'small', slug: 'small', gateway_path: '/small' });
  await gateway.must('POST', '/apps/small/versions', { version: 'v1' });
  const revision = { revision: 'r1', backend_host: '127.0.0.1', backend_port: port, backend_scheme: 'http' };
  await gateway.must('POST', '/apps/small/versions/v1/revisions', { ...revision, is_current: true });
  await pause(SETTLE_MS);
  await measured('no change', gateway);
  for (let round = 1; round <= ROUNDS; round += 1) {
    await measured("the app's policy", gateway, () =>
      gateway.must('PATCH', '/apps/large', {
        default_policy: { allowed_methods: ['GET', 'HEAD'].slice(round % 2) },
      }),
    );
    await measured("the app's description", gateway, () =>
      gateway.must('PATCH', '/apps/large', { description: `round ${round}` }),
    );
  }
  const config = declared(2_000);
  await measured('apply of all endpoints', gateway, () => gateway.must('POST', '/config/apply', { config }));
} finally {
  await gateway.stop();
  backend.close();
}
