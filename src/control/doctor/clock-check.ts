/**
 * Checks the clock of this machine against the monotonic clock, and against the times of existing files;
 * server-checks.ts compares it with the clock of PostgreSQL. Limits, tokens and certificates depend on the clock. The
 * time zone does not matter.
 */
import { statSync } from 'node:fs';
import type { Clock } from '../../lib/clock.ts';
import { CLOCK_FIX } from '../database/clock-watch.ts';
import { error, ok, warning, type Finding } from './finding.ts';

const WATCH_MS = 200;
const JUMP_MS = 100;
/** Two file systems may differ by this much. */
const AHEAD_MS = 60_000;

/** @param files files of the program and of the gateway; unreadable ones are ignored */
export async function clockChecks(
  clock: Clock,
  files: readonly string[],
  pause: (ms: number) => Promise<unknown>,
): Promise<Finding[]> {
  const [wallMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
  await pause(WATCH_MS);
  const jumpMs = Math.round(clock.nowMs() - wallMs - (clock.monotonicMs() - monotonicMs));
  if (Math.abs(jumpMs) > JUMP_MS)
    return [warning('clock', `the clock went ${jumpMs} ms too far within ${WATCH_MS} ms`, CLOCK_FIX)];
  for (const path of files) {
    const writtenMs = writtenMsOf(path);
    if (writtenMs > clock.nowMs() + AHEAD_MS) {
      const detail = `it is ${new Date(clock.nowMs()).toISOString()}, but "${path}" was written at ${new Date(writtenMs).toISOString()}`;
      return [error('clock', detail, CLOCK_FIX)];
    }
  }
  return [ok('clock', `${new Date(wallMs).toISOString()}, without a jump`)];
}

/** 0 when the time cannot be read, which another check reports. */
function writtenMsOf(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
