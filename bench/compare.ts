/**
 * This checkout against others, for before and after: `node bench/compare.ts <checkout …> [--load policy] [--rounds 9]
 * [--starts 1] [--seconds 3] [--log] [--nginx]`. Loads as in bench/profile.ts, also several, such as `keys-few,keys`,
 * to see what one costs above the other; with `--log`, all write an access log to a file, as Headgate does by default;
 * with `--nginx`, nginx does the same beside them; with several starts, all run their rounds in as many processes, one
 * after the other. Prints figures and ratios to the first one; writes nothing. A folder with its own `src` and a
 * `node_modules` link is checkout enough; one with `scripts/build.ts` runs as a bundle, as `npm start` runs it.
 */
import { basename, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { contest, type Contestant } from './contest.ts';
import { coresFor, stayOffProxy } from './cores.ts';
import { configureFor, fillerFor, LOADS, type LoadName } from './loads.ts';
import { startHeadgate } from './peers/headgate.ts';
import { nginxLua } from './peers/nginx-lua.ts';
import { nginxBare } from './peers/nginx.ts';
import { startOrigin } from './peers/origin.ts';
import { assertPrograms } from './programs.ts';
import { ratio, resultText } from './report.ts';
import { benchToken, orderRequest } from './service.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    load: { type: 'string', default: 'policy' },
    rounds: { type: 'string', default: '9' },
    starts: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '3' },
    log: { type: 'boolean', default: false },
    nginx: { type: 'boolean', default: false },
  },
});
const loads = values.load.split(',') as LoadName[];
for (const load of loads) {
  if (!(load in LOADS))
    throw new Error(`Cannot load as "${load}": expected ${Object.keys(LOADS).join(', ')}`);
}
const [load = 'policy'] = loads;

function contestant(checkout: string, load: LoadName): Contestant {
  let made = LOADS[load];
  const name = basename(resolve(checkout));
  return {
    peer: {
      name: loads.length === 1 ? name : `${name} ${load}`,
      start: async (setup) => {
        const options = { checkout: resolve(checkout), filler: fillerFor(load) };
        const gateway = await startHeadgate(setup, options);
        made = await configureFor(load, gateway, setup.originPort);
        return gateway;
      },
    },
    load: () => made,
  };
}

/** nginx with the policy in Lua where there is one, else as it is. */
const nginx: Contestant =
  load === 'policy'
    ? { peer: nginxLua, load: () => ({ ...LOADS.policy, requests: [orderRequest(benchToken(0))] }) }
    : { peer: nginxBare, load: () => LOADS[load] };

assertPrograms();
const cores = coresFor(1);
stayOffProxy(cores);
const origin = await startOrigin(cores);
const setup = { originPort: origin.port, cores, workers: 1, accessLog: values.log };
const pace = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  warmUpSeconds: 10,
  starts: Number(values.starts),
};
const contestants = [
  ...(values.nginx ? [nginx] : []),
  ...positionals.flatMap((checkout) => loads.map((each) => contestant(checkout, each))),
];
const figures = await contest(contestants, setup, pace, () => undefined);
const [first, ...others] = figures;
const checks = others.flatMap(({ name }) => [
  ratio(figures, name, first?.name ?? '', 'cpuUs'),
  ratio(figures, name, first?.name ?? '', 'requestsPerSecond'),
]);
process.stdout.write(resultText({ id: values.load, title: 'checkouts compared', figures, checks }));
await origin.stop();
process.exit();
