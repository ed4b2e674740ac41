/**
 * What traces cost a request, of the whole process: `node bench/traces.ts [checkout …] [--cases off,sampled,all,dead]
 * [--rounds 9] [--starts 1] [--seconds 2] [--log] [--connections 64]`. The load of `policy`, without traces, with 1 %
 * and all of them kept, and with all of them kept for a collector that is dead, hangs or refuses; with `--log`, each
 * request has a line of the access log too, as by default. Few connections, such as 2, leave the proxy's core idle for
 * part of the time; several starts run all rounds in as many processes, one after the other. The others run beside the
 * load. Prints figures and ratios to the first case of the first checkout; writes nothing.
 */
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { contest, type Contestant } from './contest.ts';
import { coresFor, stayOffProxy } from './cores.ts';
import { configureFor, fillerFor, LOADS } from './loads.ts';
import { startCollector } from './peers/collector.ts';
import { startHeadgate } from './peers/headgate.ts';
import { startOrigin } from './peers/origin.ts';
import { freePort } from './processes.ts';
import { assertPrograms } from './programs.ts';
import { ratio, resultText } from './report.ts';

/** Where the collector is, and the share that is kept. */
const CASES = {
  off: undefined,
  sampled: { collector: 'takes', ratio: '0.01' },
  all: { collector: 'takes', ratio: '1' },
  dead: { collector: 'dead', ratio: '1' },
  hangs: { collector: 'hangs', ratio: '1' },
  refuses: { collector: 'refuses', ratio: '1' },
} as const;
type CaseName = keyof typeof CASES;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cases: { type: 'string', default: 'off,sampled,all' },
    rounds: { type: 'string', default: '9' },
    starts: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '2' },
    log: { type: 'boolean', default: false },
    connections: { type: 'string', default: String(LOADS.policy.connections) },
  },
});
const cases = values.cases.split(',') as CaseName[];
for (const name of cases)
  if (!(name in CASES)) throw new Error(`"${name}" is none of ${Object.keys(CASES).join(', ')}`);
const checkouts = positionals.length === 0 ? [join(import.meta.dirname, '..')] : positionals;

function environmentOf(name: CaseName): Record<string, string> {
  const traces = CASES[name];
  if (traces === undefined) return {};
  return {
    GATEWAY_OTEL__ENDPOINT: urls[traces.collector],
    GATEWAY_OTEL__SAMPLE_RATIO: traces.ratio,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  };
}

function contestant(checkout: string, name: CaseName): Contestant {
  let made = LOADS.policy;
  return {
    peer: {
      name: checkouts.length === 1 ? name : `${basename(resolve(checkout))} ${name}`,
      start: async (setup) => {
        const gateway = await startHeadgate(setup, {
          checkout: resolve(checkout),
          filler: fillerFor('policy'),
          env: environmentOf(name),
        });
        made = await configureFor('policy', gateway, setup.originPort);
        return gateway;
      },
    },
    load: () => ({ ...made, connections: Number(values.connections) }),
  };
}

assertPrograms();
const cores = coresFor(1);
stayOffProxy(cores);
const origin = await startOrigin(cores);
const collector = await startCollector(cores);
const urls = { ...collector.urls, dead: `http://127.0.0.1:${await freePort()}` };
const figures = await contest(
  checkouts.flatMap((checkout) => cases.map((name) => contestant(checkout, name))),
  { originPort: origin.port, cores, workers: 1, accessLog: values.log },
  {
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    warmUpSeconds: 4,
    starts: Number(values.starts),
  },
  () => undefined,
);
const [first, ...others] = figures;
const checks = others.flatMap(({ name }) =>
  (['cpuUs', 'p99Us'] as const).map((figure) => ratio(figures, name, first?.name ?? '', figure)),
);
process.stdout.write(resultText({ id: 'traces', title: 'what traces cost', figures, checks }));
process.stdout.write(`the collector took ${((await collector.takenBytes()) / 2 ** 20).toFixed(0)} MiB\n`);
await Promise.all([origin.stop(), collector.stop()]);
process.exit();
