/**
 * Where the time of a proxied request goes: `node bench/profile.ts [policy|pass|bodies|download|keys|routes|…]
 * [seconds]`. Starts Headgate with V8's sampling profiler on, loads it as the workload of that name does, and prints
 * the functions with the most time of their own in the worker thread, in percent of the time that it was not idle. The
 * profile itself is kept beside the bench's results for a viewer (`*.cpuprofile`).
 */
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { coresFor, stayOffProxy } from './cores.ts';
import { runLoad, tryOnce } from './load.ts';
import { configureFor, fillerFor, LOADS, type LoadName } from './loads.ts';
import { cpuDifference, cpuTime } from './measure.ts';
import { startHeadgate } from './peers/headgate.ts';
import { startOrigin } from './peers/origin.ts';
import { assertPrograms } from './programs.ts';

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
const [name = 'policy', seconds = '10'] = process.argv.slice(2);
if (!(name in LOADS)) throw new Error(`Cannot profile "${name}": expected ${Object.keys(LOADS).join(', ')}`);
assertPrograms();
const cores = coresFor(1);
stayOffProxy(cores);
const origin = await startOrigin(cores);
const folder = join(import.meta.dirname, 'results/tmp', name);
mkdirSync(folder, { recursive: true });
const gateway = await startHeadgate(
  { originPort: origin.port, cores, workers: 1, accessLog: false },
  {
    nodeArguments: ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${SAMPLE_MICROSECONDS}`],
    filler: fillerFor(name as LoadName),
  },
);
const load = await configureFor(name as LoadName, gateway, origin.port);
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

/** Profiles are named `CPU.<day>.<time>.<pid>.<thread>.<number>`; the thread of the first worker is 1. */
function newestProfile(): Profile {
  const files = readdirSync(folder).filter((file) => file.split('.')[4] === '1');
  const newest = files
    .map((file) => join(folder, file))
    .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
  if (newest === undefined) throw new Error(`The worker left no profile in ${folder}`);
  process.stdout.write(`${newest}\n`);
  return JSON.parse(readFileSync(newest, 'utf8')) as Profile;
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
