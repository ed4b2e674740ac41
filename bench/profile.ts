/**
 * Where the time of a proxied request goes: `node bench/profile.ts [policy|pass|bodies|download] [seconds]`. Starts
 * Headgate with V8's sampling profiler on, loads it as the workload of that name does, and prints the functions with
 * the most time of their own in the worker thread, in percent of the time that it was not idle. The profile itself is
 * kept beside the bench's results for a viewer (`*.cpuprofile`).
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { coresFor } from './cores.ts';
import { runLoad, tryOnce, type Load } from './load.ts';
import { cpuDifference, cpuTime } from './measure.ts';
import { createService, startHeadgate } from './peers/headgate.ts';
import { startOrigin } from './peers/origin.ts';
import { assertPrograms } from './programs.ts';
import { APP, FILLER_ENDPOINTS, PREFIX, SCOPE, orderRequest } from './service.ts';
import { FULL_POLICY } from './workloads/full-policy.ts';
import { SMALL_LOAD } from './workloads/pass-through.ts';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const ROWS = 45;
const SAMPLE_MICROSECONDS = 250;
const LOADS: Readonly<Record<string, Load>> = {
  policy: SMALL_LOAD,
  pass: SMALL_LOAD,
  bodies: { ...SMALL_LOAD, method: 'POST', bodyBytes: 4096, requests: [{ path: `${PREFIX}/large` }] },
  download: { connections: 8, requests: [{ path: `${PREFIX}/download` }] },
};

const [name = 'policy', seconds = '10'] = process.argv.slice(2);
assertPrograms();
const cores = coresFor(1);
const origin = await startOrigin(cores);
const folder = join(import.meta.dirname, 'results/tmp', name);
mkdirSync(folder, { recursive: true });
const gateway = await startHeadgate(
  { originPort: origin.port, cores, workers: 1, accessLog: false },
  {
    nodeArguments: ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${SAMPLE_MICROSECONDS}`],
    filler: { endpoints: FILLER_ENDPOINTS },
  },
);
const load = await configured();
await tryOnce(load, gateway.port);
const before = cpuTime(gateway.pid);
const { requests } = await runLoad(load, gateway.port, Number(seconds), cores.load);
const spent = cpuDifference(before, cpuTime(gateway.pid));
await gateway.stop();
process.stdout.write(`${requests} requests, CPU µs per request by thread (the profiler included):\n`);
for (const [thread, ms] of Object.entries(spent.threadsMs)) {
  process.stdout.write(`  ${thread.padEnd(20)}${((ms * 1000) / requests).toFixed(2)}\n`);
}
print(newestProfile());
await origin.stop();
process.exit();

async function configured(): Promise<Load> {
  const plain = LOADS[name];
  if (plain === undefined)
    throw new Error(`Cannot profile "${name}": expected ${Object.keys(LOADS).join(', ')}`);
  if (name !== 'policy') {
    await createService(gateway, { slug: APP, originPort: origin.port, stripGatewayPath: false });
    return plain;
  }
  const token = await createService(gateway, {
    slug: APP,
    originPort: origin.port,
    policy: FULL_POLICY,
    endpoints: [['GET', '/orders/{id}']],
    keyScopes: [SCOPE],
  });
  return { ...plain, requests: [orderRequest(token)] };
}

/** One per thread: the worker's is the largest. */
function newestProfile(): Profile {
  const files = readdirSync(folder).map((file) => join(folder, file));
  const newest = Math.max(...files.map((file) => statSync(file).mtimeMs));
  const own = files.filter((file) => statSync(file).mtimeMs > newest - 5_000);
  own.sort((a, b) => statSync(b).size - statSync(a).size);
  process.stdout.write(`${own[0]}\n`);
  return JSON.parse(readFileSync(own[0] ?? '', 'utf8')) as Profile;
}

function print({ nodes, samples, timeDeltas }: Profile): void {
  const selfUs = new Map<string, number>();
  const names = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  let busyUs = 0;
  samples.forEach((id, index) => {
    const place = names.get(id) ?? '';
    if (place.startsWith('(idle)')) return;
    const us = timeDeltas[index] ?? 0;
    busyUs += us;
    selfUs.set(place, (selfUs.get(place) ?? 0) + us);
  });
  const rows = [...selfUs].sort((a, b) => b[1] - a[1]).slice(0, ROWS);
  for (const [place, us] of rows) {
    process.stdout.write(`${((us / busyUs) * 100).toFixed(2).padStart(6)} %  ${place}\n`);
  }
}

function placeOf({ functionName, url, lineNumber }: ProfileNode['callFrame']): string {
  const file = url.startsWith('file:') ? url.slice(url.lastIndexOf('/src/') + 1) : url;
  const where = file === '' ? '' : `  ${file.startsWith('node:') ? file : basename(file)}:${lineNumber + 1}`;
  return `${functionName === '' ? '(anonymous)' : functionName}${where}`;
}
