/**
 * How long a start takes, and what a gateway at rest needs, this checkout beside others: `node bench/starts.ts
 * <checkout …> [--rounds 9] [--workers 2] [--rest 12]`. They start by turns, each on a database and with compiled code
 * of its own from two starts before. Prints the time until the traffic port takes connections, the processor time by
 * then, and the resident memory after so many seconds without requests; writes nothing.
 */
import { join, basename, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { coresFor, CORES } from './cores.ts';
import { cpuTime, residentBytes } from './measure.ts';
import { newFolder } from './processes.ts';
import { startHeadgate } from './peers/headgate.ts';
import { median } from '../test/support/measure/stats.ts';

const STARTS_BEFORE = 2;
const MIB = 1_048_576;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '9' },
    workers: { type: 'string', default: '2' },
    rest: { type: 'string', default: '12' },
  },
});
const setup = {
  originPort: 9,
  cores: { ...coresFor(1), proxy: `0-${CORES - 1}` },
  workers: Number(values.workers),
  accessLog: true,
};

const contestants = positionals.map((checkout) => {
  const name = basename(resolve(checkout));
  const folder = newFolder(name);
  const env = {
    GATEWAY_DATABASE_URL: `sqlite://${join(folder, 'headgate.db')}`,
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  };
  return { name, options: { checkout: resolve(checkout), env } };
});

/** @param restMs how long it is left alone before its memory is read */
async function start({ options }: (typeof contestants)[number], restMs: number) {
  const gateway = await startHeadgate(setup, options);
  const { userMs, systemMs } = cpuTime(gateway.pid);
  await pause(restMs);
  const memoryMib = residentBytes(gateway.pid) / MIB;
  await gateway.stop();
  return { startMs: gateway.startedInMs, cpuMs: userMs + systemMs, memoryMib };
}

for (const contestant of contestants) {
  for (let before = 0; before < STARTS_BEFORE; before += 1) await start(contestant, 0);
}
const rounds = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const contestant of contestants) {
    rounds.push({ name: contestant.name, ...(await start(contestant, 1_000 * Number(values.rest))) });
  }
}
process.stdout.write('contestant         start ms  (best)  CPU ms  memory MiB\n');
for (const { name } of contestants) {
  const own = rounds.filter((each) => each.name === name);
  const startMs = own.map((each) => each.startMs);
  const figures = [
    median(startMs).toFixed(0).padStart(8),
    `(${Math.min(...startMs).toFixed(0)})`.padStart(8),
    median(own.map(({ cpuMs }) => cpuMs))
      .toFixed(0)
      .padStart(7),
    median(own.map(({ memoryMib }) => memoryMib))
      .toFixed(0)
      .padStart(11),
  ];
  process.stdout.write(`${name.padEnd(18)} ${figures.join(' ')}\n`);
}
