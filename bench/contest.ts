/**
 * Runs contestants against each other: all are started, each is warmed up, then they take turns for a number of rounds,
 * so that whatever else the machine does hits all alike. What counts is the median over the rounds; of a ratio, that of
 * the ratios within each round, which a machine that is slow for a while does not change. Where the machine is a
 * virtual one and its host takes the processors away in the middle of a round, another round is run, and those count in
 * which it took least: chosen by that alone, not by what was measured.
 */
import { CORES, type Cores } from './cores.ts';
import { runLoad, tryOnce, type Load, type LoadResult } from './load.ts';
import { cpuDifference, cpuTime, residentBytes, stolenMs, watchPeak } from './measure.ts';
import type { Peer, PeerSetup } from './peers/peer.ts';
import type { RunningProgram } from './processes.ts';
import { median } from '../test/support/measure/stats.ts';

export interface Contestant {
  readonly peer: Peer;
  /** Asked for once the peer runs. */
  readonly load: () => Load;
  /** Part of the name where one peer stands for several contestants. */
  readonly label?: string;
}

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /**
   * How many times everything is started anew for as many rounds; default 1. What the compiler makes of a program
   * differs from start to start by some percent and stays so for all rounds of it: small ratios need several starts.
   */
  readonly starts?: number;
}

export interface Round extends LoadResult {
  readonly userUs: number;
  readonly systemUs: number;
  /** Percent of one core that the proxy used. */
  readonly coreUse: number;
  /** Percent of the time of all cores that the host took away. */
  readonly stolen: number;
  /** Percent of one core that all threads used but the workers', which serve the requests. */
  readonly besideWorkers: number;
}

/** What ratios are made of. */
export interface RoundFigures {
  /** Per request, all processes and threads of the proxy. */
  readonly cpuUs: number;
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly p99Us: number;
}

/** Medians over the rounds. */
export interface Figures extends RoundFigures {
  readonly name: string;
  /** In the order in which they were run, the same for all contestants. */
  readonly rounds: readonly RoundFigures[];
  readonly userUs: number;
  readonly systemUs: number;
  readonly p50Us: number;
  readonly coreUse: number;
  readonly residentBytes: number;
  /** Peak of resident memory during the rounds, above the level at their start. */
  readonly grownBytes: number;
  /** Of the CPU time per request, over all rounds: how far the machine let the figure wander. */
  readonly cpuUsMin: number;
  readonly cpuUsMax: number;
  /** Percent of the time of all cores that the host took away; results of earlier benches have none. */
  readonly stolen?: number;
}

/** How the names of Headgate's worker threads begin. */
const WORKER_THREADS = 'proxy-';
/** Of the time of all cores: a round with less counts as undisturbed. */
const STOLEN_PERCENT_MAX = 0.5;
/** How many times as many rounds are run at most as are asked for. */
const ROUNDS_FACTOR_MAX = 3;

/** What one start of a contestant gave. */
interface Heat {
  readonly name: string;
  readonly rounds: readonly Round[];
  readonly residentBytes: number;
  readonly grownBytes: number;
}

/** Starts, measures and stops the contestants; figures in their order. */
export async function contest(
  contestants: readonly Contestant[],
  setup: PeerSetup,
  pace: Pace,
  progress: (text: string) => void,
): Promise<Figures[]> {
  const heats: Heat[][] = [];
  while (heats.length < (pace.starts ?? 1)) heats.push(await heat(contestants, setup, pace, progress));
  return contestants.map((_, index) => {
    const own = heats.flatMap((each) => each[index] ?? []);
    const rounds = own.flatMap((each) => each.rounds);
    const bytes = median(own.map((each) => each.residentBytes));
    return figuresOf(own[0]?.name ?? '', rounds, bytes, median(own.map((each) => each.grownBytes)));
  });
}

async function heat(
  contestants: readonly Contestant[],
  setup: PeerSetup,
  pace: Pace,
  progress: (text: string) => void,
): Promise<Heat[]> {
  const started: RunningProgram[] = [];
  try {
    const entries: { name: string; program: RunningProgram; load: Load }[] = [];
    for (const contestant of contestants) {
      const name = contestant.label ?? contestant.peer.name;
      const program = await named(name, contestant.peer.start(setup));
      started.push(program);
      entries.push({ name, program, load: contestant.load() });
    }
    for (const { name, program, load } of entries) {
      progress(`warming up ${name}`);
      await named(name, tryOnce(load, program.port));
      await named(name, runLoad(load, program.port, pace.warmUpSeconds, setup.cores.load));
    }
    const peaks = entries.map(({ program }) => watchPeak(program.pid));
    const rounds = await quietRounds(pace, (round) =>
      inTurn(entries, round, ({ name, program, load }) => {
        progress(`round ${round} of ${pace.rounds} or more: ${name}`);
        return named(name, measureRound(load, program, pace.seconds, setup.cores));
      }),
    );
    return entries.map(({ name, program }, index) => ({
      name,
      rounds: rounds[index] ?? [],
      residentBytes: residentBytes(program.pid),
      grownBytes: peaks[index]?.() ?? 0,
    }));
  } finally {
    await Promise.all(started.map((program) => program.stop()));
  }
}

/**
 * Runs rounds until there are as many undisturbed ones as asked for, or several times as many in all; keeps as many as
 * asked for, those of which the host took least.
 * @param run one round of every contestant; gives them in the same order each time
 * @returns the rounds of each contestant, in that order
 */
export async function quietRounds(
  pace: Pace,
  run: (round: number) => Promise<readonly Round[]>,
): Promise<Round[][]> {
  const turns: { readonly rounds: readonly Round[]; readonly stolen: number }[] = [];
  let quiet = 0;
  while (quiet < pace.rounds && turns.length < pace.rounds * ROUNDS_FACTOR_MAX) {
    const rounds = await run(turns.length + 1);
    const stolen = Math.max(...rounds.map((each) => each.stolen));
    turns.push({ rounds, stolen });
    if (stolen <= STOLEN_PERCENT_MAX) quiet += 1;
  }
  const least = turns.toSorted((a, b) => a.stolen - b.stolen).slice(0, pace.rounds);
  const contestants = [...(least[0]?.rounds ?? []).keys()];
  return contestants.map((index) => least.flatMap(({ rounds }) => rounds[index] ?? []));
}

/**
 * Measures one after the other, every other round the other way round, so that none always follows the same neighbour.
 * @returns what was measured, in the order of the entries
 */
export async function inTurn<E, T>(
  entries: readonly E[],
  round: number,
  measure: (entry: E) => Promise<T>,
): Promise<T[]> {
  const backwards = round % 2 === 0;
  const measured: T[] = [];
  for (const entry of backwards ? entries.toReversed() : entries) measured.push(await measure(entry));
  return backwards ? measured.toReversed() : measured;
}

async function named<T>(name: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

export async function measureRound(
  load: Load,
  program: RunningProgram,
  seconds: number,
  cores: Cores,
): Promise<Round> {
  const before = cpuTime(program.pid);
  const [stolenBeforeMs, begunMs] = [stolenMs(), performance.now()];
  const result = await runLoad(load, program.port, seconds, cores.load);
  const spent = cpuDifference(before, cpuTime(program.pid));
  const allMs = (performance.now() - begunMs) * CORES;
  const beside = Object.entries(spent.threadsMs).filter(([thread]) => !thread.startsWith(WORKER_THREADS));
  return {
    ...result,
    userUs: (spent.userMs * 1000) / result.requests,
    systemUs: (spent.systemMs * 1000) / result.requests,
    coreUse: (spent.userMs + spent.systemMs) / (result.durationSecs * 10),
    stolen: ((stolenMs() - stolenBeforeMs) / allMs) * 100,
    besideWorkers: beside.reduce((sum, [, ms]) => sum + ms, 0) / (result.durationSecs * 10),
  };
}

export function figuresOf(name: string, rounds: readonly Round[], bytes: number, grownBytes = 0): Figures {
  const of = (value: (round: Round) => number): number => median(rounds.map(value));
  const each = rounds.map(figuresOfRound);
  const cpu = each.map(({ cpuUs }) => cpuUs);
  return {
    name,
    rounds: each,
    cpuUs: median(cpu),
    userUs: of((round) => round.userUs),
    systemUs: of((round) => round.systemUs),
    requestsPerSecond: median(each.map(({ requestsPerSecond }) => requestsPerSecond)),
    bytesPerSecond: median(each.map(({ bytesPerSecond }) => bytesPerSecond)),
    p50Us: of((round) => round.p50Us),
    p99Us: of((round) => round.p99Us),
    coreUse: of((round) => round.coreUse),
    residentBytes: bytes,
    grownBytes,
    cpuUsMin: Math.min(...cpu),
    cpuUsMax: Math.max(...cpu),
    stolen: of((round) => round.stolen),
  };
}

function figuresOfRound(round: Round): RoundFigures {
  const { userUs, systemUs, requests, bytesRead, durationSecs, p99Us } = round;
  return {
    cpuUs: userUs + systemUs,
    requestsPerSecond: requests / durationSecs,
    bytesPerSecond: bytesRead / durationSecs,
    p99Us,
  };
}
