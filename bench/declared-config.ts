/**
 * How long a plan and an apply of a declared configuration take, and how much memory they need. Starts a gateway of its
 * own with an SQLite file. An apply is answered when every worker obeys it, so its time is that of the answer. On a
 * machine with other work to do, the time of processors tells more than that of the clock.
 *
 *   sh scripts/run.sh bench/declared-config.ts [endpoints] [changes] [workers]
 *   Defaults: 10,000 endpoints, 1,000 changes, 2 workers.
 */
import { readFileSync } from 'node:fs';
import { startGateway, type TestGateway } from '../test/support/gateway.ts';
import { watchMemory } from '../test/support/measure/process-memory.ts';

const ENDPOINTS_PER_REVISION = 1_000;
const ROUNDS = 3;
const MIB = 1_048_576;
const MS_PER_TICK = 10;

const numbers = process.argv.slice(2).map(Number);
const [endpointCount = 10_000, changeCount = 1_000, workers = 2] = numbers;
if (numbers.some((value) => !Number.isInteger(value) || value < 1)) {
  throw new Error('Cannot measure: the arguments must be positive whole numbers');
}

/**
 * A tree of apps with one version and revision each.
 * @param changed endpoints that are switched off
 */
function tree(changed: number): object {
  const apps: Record<string, object> = {};
  let left = changed;
  for (let first = 0; first < endpointCount; first += ENDPOINTS_PER_REVISION) {
    const endpoints: Record<string, object> = {};
    const count = Math.min(ENDPOINTS_PER_REVISION, endpointCount - first);
    for (let index = 0; index < count; index += 1) {
      endpoints[`GET /resources/${first + index}/{id}`] = left > 0 ? { is_active: false } : {};
      left -= 1;
    }
    const revision = { backend_host: '127.0.0.1', backend_scheme: 'http', is_current: true, endpoints };
    const name = `app-${first}`;
    apps[name] = { gateway_path: `/${name}`, versions: { v1: { revisions: { r1: revision } } } };
  }
  return { apps };
}

/** Time that all threads of a process have had a processor for, proc_pid_stat(5), in steps of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function timed(name: string, gateway: TestGateway, path: string, config: object): Promise<void> {
  const { pid } = gateway.process;
  if (pid === undefined) throw new Error('Cannot measure: the gateway has no process');
  let ms = 0;
  const cpuBefore = cpuMs(pid);
  let totals = '';
  const memory = await watchMemory(pid, async () => {
    const startedMs = performance.now();
    const data = await gateway.must('POST', path, { config });
    ms = performance.now() - startedMs;
    totals = JSON.stringify(data.totals);
  });
  const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`;
  const cpu = cpuMs(pid) - cpuBefore;
  const grown = mib(memory.peakBytes - memory.beforeBytes);
  print(
    `${name}: ${Math.round(ms)} ms (${cpu} ms of processors), peak ${mib(memory.peakBytes)} (+${grown}), ${totals}`,
  );
}

const gateway = await startGateway({ env: { GATEWAY_WORKERS: String(workers) } });
try {
  print(`${endpointCount} endpoints, ${changeCount} changes, ${workers} workers`);
  await timed('first apply', gateway, '/config/apply', tree(0));
  for (let round = 0; round < ROUNDS; round += 1) {
    const changed = round % 2 === 0 ? changeCount : 0;
    await timed('plan without changes', gateway, '/config/plan', tree(changeCount - changed));
    await timed('plan', gateway, '/config/plan', tree(changed));
    await timed('apply', gateway, '/config/apply', tree(changed));
  }
} finally {
  await gateway.stop();
}
