import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { systemClock } from '../../lib/clock.ts';
import { createLogger } from '../../observe/log.ts';
import { Breaker } from '../../proxy/resilience/breaker.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { HealthRegistry, HISTORY_MAX } from './health-registry.ts';
import type { FailureNote, MoveNote } from './health-reporter.ts';

const NOW = 1_790_000_000_000;
const record = revisionRecord({ id: 'r', version_id: 'v' });

function setUp(): { readonly registry: HealthRegistry; readonly number: number; readonly lines: string[] } {
  const state = new ConfigState();
  const version = versionTree(versionRecord({ id: 'v', app_id: 'a' }), { revision: record, endpoints: [] });
  const change = configChange(1, { apps: [appTree(appRecord({ id: 'a' }), version)] });
  state.apply(change);
  const [[, memory] = []] = state.breakersOf(change);
  if (memory === undefined) throw new Error('there is a breaker');
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'info', format: 'json', output, clock: systemClock });
  return { registry: new HealthRegistry(state, systemClock, log), number: new Breaker(memory).number, lines };
}

const move = (breakerNumber: number, atMs: number): MoveNote => ({
  revisionId: 'r',
  breakerNumber,
  revision: 'canary',
  backend: 'backend.example:8000',
  move: { from: 'closed', to: 'open', event: 'failure', atMs },
  detail: 'cannot connect (ECONNREFUSED)',
  requestId: `at-${atMs}`,
});

const failure = (breakerNumber: number, atMs: number): FailureNote => ({
  revisionId: 'r',
  breakerNumber,
  atMs,
  kind: 'reset',
  detail: `at ${atMs}`,
  requestId: 'request',
});

describe('HealthRegistry', () => {
  it('keeps the latest state changes in order, even if messages arrive out of order', () => {
    const { registry, number } = setUp();
    const times = Array.from({ length: HISTORY_MAX + 8 }, (_, index) => NOW + index);
    const swapped = times.flatMap((time, index) => (index % 2 === 0 ? [times[index + 1] ?? time, time] : []));
    for (const time of swapped)
      registry.report({ type: 'health', failures: [], moves: [move(number, time)] });
    const { history } = registry.healthOf(record);
    expect(history.map(({ at }) => Date.parse(at))).toEqual(times.slice(-HISTORY_MAX).reverse());
    expect(history[0]).toMatchObject({ from: 'closed', to: 'open', request_id: `at-${times.at(-1)}` });
  });

  it('keeps the latest error, whichever worker reports it first', () => {
    const { registry, number } = setUp();
    for (const atMs of [NOW, NOW + 2, NOW + 1])
      registry.report({ type: 'health', failures: [failure(number, atMs)], moves: [] });
    expect(registry.healthOf(record).last_error).toMatchObject({ kind: 'reset', detail: `at ${NOW + 2}` });
  });

  it('ignores reports about a replaced backend or a deleted revision', () => {
    const { registry, number, lines } = setUp();
    const gone = { ...move(number, NOW), revisionId: 'gone' };
    registry.report({
      type: 'health',
      failures: [failure(number + 1, NOW)],
      moves: [move(number + 1, NOW), gone],
    });
    expect(registry.healthOf(record)).toMatchObject({ state: 'closed', last_error: null, history: [] });
    expect(lines).toEqual([]);
  });

  it('logs each state change, an opening as a warning', () => {
    const { registry, number, lines } = setUp();
    registry.noteMove(move(number, NOW));
    registry.noteMove({
      ...move(number, NOW),
      move: { from: 'open', to: 'closed', event: 'probe_healthy', atMs: NOW },
      requestId: null,
    });
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(logged).toMatchObject([
      { level: 'warn', revision: 'canary', from: 'closed', to: 'open', request_id: `at-${NOW}` },
      { level: 'info', revision: 'canary', from: 'open', to: 'closed', event: 'probe_healthy' },
    ]);
    expect(logged[1]).not.toHaveProperty('request_id');
  });
});
