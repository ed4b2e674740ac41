/**
 * Runs fuzzers for as long as wanted: `node test/fuzz/run.ts [NAME ...] [--seed N] [--seconds S] [--steps N]`.
 * Without names all run in turn, each for its share of the time. On a failure it prints the command that replays it
 * and exits with 1.
 */
import { parseArgs } from 'node:util';
import { runFuzzer } from './fuzzer.ts';
import { canary, fuzzers } from './registry.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    seconds: { type: 'string', default: '60' },
    steps: { type: 'string' },
  },
});

const known = [...fuzzers, canary];
const chosen =
  positionals.length === 0 ? fuzzers : known.filter((fuzzer) => positionals.includes(fuzzer.name));
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const seconds = Number(values.seconds);
const unknown = positionals.filter((name) => !known.some((fuzzer) => fuzzer.name === name));

if (unknown.length > 0 || !Number.isInteger(seed) || !(seconds > 0)) {
  print(`Usage: node test/fuzz/run.ts [NAME ...] [--seed N] [--seconds S] [--steps N]`);
  print(`Fuzzers: ${known.map((fuzzer) => fuzzer.name).join(' ')}`);
  process.exit(2);
}

for (const fuzzer of chosen) {
  const until =
    values.steps === undefined
      ? { durationMs: (seconds * 1000) / chosen.length }
      : { steps: Number(values.steps) };
  const { steps, failure } = await runFuzzer(fuzzer, seed, until);
  print(`${fuzzer.name}: ${steps} steps from seed ${seed}${failure === undefined ? '' : ', FAILED'}`);
  if (failure === undefined) continue;
  print(
    failure.error instanceof Error ? (failure.error.stack ?? failure.error.message) : String(failure.error),
  );
  print(`Replay: node test/fuzz/run.ts ${fuzzer.name} --seed ${failure.seed} --steps 1`);
  process.exit(1);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
