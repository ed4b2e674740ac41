/**
 * The bench: `npm run bench`, or `npm run bench -- a-policy b-pass --rounds 9`. Prints each workload's figures and
 * ratios as they come and writes bench/results/latest.json and latest.md, in which workloads that were not run keep
 * what was found last. docs/explanation/performance.md says how to read them.
 *
 *   <workload …>    ids, or beginnings of ids; all without any
 *   --rounds N      interleaved rounds per workload (default 5)
 *   --seconds S     length of a round for each contestant (default 5)
 *   --warm-up S     load for each contestant before the rounds (default 10), in which V8 compiles the code
 *   --quick         one short round and small configurations: shows that everything works, measures and writes nothing
 *   --list          the workloads
 */
import { parseArgs } from 'node:util';
import { coresFor, stayOffProxy } from './cores.ts';
import type { Pace } from './contest.ts';
import { startOrigin } from './peers/origin.ts';
import { assertPrograms } from './programs.ts';
import { machine, resultText, writeReport, type NamedResult } from './report.ts';
import { WORKLOADS } from './workloads/all.ts';
import type { Workload } from './workloads/workload.ts';

const DEFAULT_ROUNDS = 5;
const DEFAULT_SECONDS = 5;
const DEFAULT_WARM_UP_SECONDS = 10;

const print = (text: string): void => void process.stdout.write(text);
/** Where it stands, on a terminal only. */
const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
};

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      quick: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  if (values.list) return WORKLOADS.forEach(({ id, title }) => print(`${id.padEnd(16)}${title}\n`));
  const chosen = choose(positionals);
  assertPrograms();
  const quick = values.quick;
  const pace: Pace = {
    rounds: positive('--rounds', values.rounds, quick ? 1 : DEFAULT_ROUNDS),
    seconds: positive('--seconds', values.seconds, quick ? 1 : DEFAULT_SECONDS),
    warmUpSeconds: positive('--warm-up', values['warm-up'], quick ? 1 : DEFAULT_WARM_UP_SECONDS),
  };
  const cores = coresFor(1);
  stayOffProxy(cores);
  const origin = await startOrigin(cores);
  const setup = { originPort: origin.port, cores, workers: 1, accessLog: false };
  const paceText = `${pace.rounds} rounds of ${pace.seconds} s per contestant, medians${quick ? ' (quick: not a measurement)' : ''}`;
  print(`${machine()}\n${paceText}\n`);
  const results: NamedResult[] = [];
  const failures: { id: string; reason: string }[] = [];
  for (const workload of chosen) {
    const { id, title } = workload;
    try {
      const result = await workload.run({
        setup,
        pace,
        quick,
        progress: (text) => progress(`${id}: ${text}`),
      });
      results.push({ id, title, at: new Date().toISOString(), pace: paceText, ...result });
      progress('');
      print(resultText({ id, title, ...result }));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      failures.push({ id, reason });
      print(`\n${id}  could not be run: ${reason}\n`);
    }
  }
  const ids = WORKLOADS.map(({ id }) => id);
  // A quick run has measured nothing.
  if (!quick) print(`\nWritten to ${writeReport({ machine: machine(), results, failures }, ids)}\n`);
  await origin.stop();
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function choose(names: readonly string[]): readonly Workload[] {
  for (const name of names) {
    if (WORKLOADS.some(({ id }) => id.startsWith(name))) continue;
    throw new Error(`Cannot run "${name}": expected one of ${WORKLOADS.map(({ id }) => id).join(', ')}`);
  }
  return names.length === 0
    ? WORKLOADS
    : WORKLOADS.filter(({ id }) => names.some((name) => id.startsWith(name)));
}

function positive(option: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`Cannot use ${option} ${text}: expected a whole number of at least 1`);
  }
  return value;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
process.exit();
