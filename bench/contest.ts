/**
 * Runs contestants against each other: all are started, each is warmed up, then they take turns for a number of
 * rounds, so that whatever else the machine does hits all alike. What counts is the median over the rounds.
 */
import type { Cores } from './cores.ts';
import { runLoad, tryOnce, type Load, type LoadResult } from './load.ts';
import { cpuDifference, cpuTime, residentBytes, watchPeak } from './measure.ts';
import type { Peer, PeerSetup } from './peers/peer.ts';
import type { RunningProgram } from './processes.ts';

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
}

export interface Round extends LoadResult {
  readonly userUs: number;
  readonly systemUs: number;
  /** Percent of one core that the proxy used. */
  readonly coreUse: number;
}

/** Medians over the rounds. */
export interface Figures {
  readonly name: string;
  /** Per request, all processes and threads of the proxy. */
  readonly cpuUs: number;
  readonly userUs: number;
  readonly systemUs: number;
  readonly requestsPerSecond: number;
  readonly bytesPerSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly coreUse: number;
  readonly residentBytes: number;
  /** Peak of resident memory during the rounds, above the level at their start. */
  readonly grownBytes: number;
  /** Of the CPU time per request, over all rounds: how far the machine let the figure wander. */
  readonly cpuUsMin: number;
  readonly cpuUsMax: number;
}

/** Starts, measures and stops the contestants; figures in their order. */
export async function contest(
  contestants: readonly Contestant[],
  setup: PeerSetup,
  pace: Pace,
  progress: (text: string) => void,
): Promise<Figures[]> {
  const started: RunningProgram[] = [];
  try {
    const entries = [];
    for (const contestant of contestants) {
      const name = contestant.label ?? contestant.peer.name;
      const program = await named(name, contestant.peer.start(setup));
      started.push(program);
      entries.push({ name, program, load: contestant.load(), rounds: [] as Round[] });
    }
    for (const { name, program, load } of entries) {
      progress(`warming up ${name}`);
      await named(name, tryOnce(load, program.port));
      await named(name, runLoad(load, program.port, pace.warmUpSeconds, setup.cores.load));
    }
    const peaks = entries.map(({ program }) => watchPeak(program.pid));
    for (let round = 1; round <= pace.rounds; round++) {
      for (const { name, program, load, rounds } of entries) {
        progress(`round ${round} of ${pace.rounds}: ${name}`);
        rounds.push(await named(name, measureRound(load, program, pace.seconds, setup.cores)));
      }
    }
    return entries.map(({ name, program, rounds }, index) =>
      figuresOf(name, rounds, residentBytes(program.pid), peaks[index]?.() ?? 0),
    );
  } finally {
    await Promise.all(started.map((program) => program.stop()));
  }
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
  const result = await runLoad(load, program.port, seconds, cores.load);
  const spent = cpuDifference(before, cpuTime(program.pid));
  return {
    ...result,
    userUs: (spent.userMs * 1000) / result.requests,
    systemUs: (spent.systemMs * 1000) / result.requests,
    coreUse: (spent.userMs + spent.systemMs) / (result.durationSecs * 10),
  };
}

export function figuresOf(name: string, rounds: readonly Round[], bytes: number, grownBytes = 0): Figures {
  const of = (value: (round: Round) => number): number => median(rounds.map(value));
  const cpu = rounds.map((round) => round.userUs + round.systemUs);
  return {
    name,
    cpuUs: median(cpu),
    userUs: of((round) => round.userUs),
    systemUs: of((round) => round.systemUs),
    requestsPerSecond: of((round) => round.requests / round.durationSecs),
    bytesPerSecond: of((round) => round.bytesRead / round.durationSecs),
    p50Us: of((round) => round.p50Us),
    p99Us: of((round) => round.p99Us),
    coreUse: of((round) => round.coreUse),
    residentBytes: bytes,
    grownBytes,
    cpuUsMin: Math.min(...cpu),
    cpuUsMax: Math.max(...cpu),
  };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
