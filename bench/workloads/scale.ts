/** Much configuration: a hundred thousand endpoints, a million keys; what a request then costs, and what it weighs. */
import type { Policy } from '../../src/policy/registry.ts';
import type { Contestant } from '../contest.ts';
import type { Filler } from '../database.ts';
import type { LoadRequest } from '../load.ts';
import { startHeadgate } from '../peers/headgate.ts';
import { ratio, type Check } from '../report.ts';
import { keyTableBytes, snapshotBytes } from '../snapshot-memory.ts';
import {
  ENDPOINTS_PER_VERSION,
  LIMIT_REQUESTS,
  LIMIT_WINDOW_SECS,
  ORIGIN,
  benchToken,
  fillerPrefix,
  fillerResource,
} from '../service.ts';
import { FULL_POLICY } from './full-policy.ts';
import { CONNECTIONS, compete, type Workload } from './workload.ts';

/** Everybody may call, so that the routes alone make the difference. */
export const OPEN_POLICY: Policy = {
  rate_limit: { enabled: true, requests: LIMIT_REQUESTS, window_seconds: LIMIT_WINDOW_SECS },
  cors: { allowed_origins: [ORIGIN] },
};

const FEW = 10;

interface ScaleContestant extends Contestant {
  /** How long its start took, as a note for the report. */
  readonly startNote: () => string;
}

function fillerContestant(label: string, filler: Filler, requests: readonly LoadRequest[]): ScaleContestant {
  let startedInMs = NaN;
  return {
    peer: {
      name: label,
      start: async (setup) => {
        const gateway = await startHeadgate(setup, { filler });
        startedInMs = gateway.startedInMs;
        return gateway;
      },
    },
    startNote: () => `Start with ${label}: ${startedInMs.toFixed(0)} ms on one core.`,
    load: () => ({ connections: CONNECTIONS, requests }),
  };
}

/** `count` of the routes, spread evenly over all of them. */
export function routeRequests(count: number, endpoints: number): LoadRequest[] {
  return Array.from({ length: count }, (_, index) => {
    const endpoint = Math.floor((index * endpoints) / count);
    const prefix = fillerPrefix(Math.floor(endpoint / ENDPOINTS_PER_VERSION));
    return {
      path: `${prefix}/${fillerResource(endpoint % ENDPOINTS_PER_VERSION)}/42`,
      headers: { Origin: ORIGIN },
    };
  });
}

/** With `count` of the keys, one after the other, spread evenly over all of them. */
export function keyRequests(count: number, keys: number): LoadRequest[] {
  return Array.from({ length: count }, (_, index) => ({
    path: `${fillerPrefix(0)}/${fillerResource(0)}/42`,
    headers: {
      Authorization: `Bearer ${benchToken(Math.floor((index * keys) / count))}`,
      Origin: ORIGIN,
    },
  }));
}

export const routes: Workload = {
  id: 'g-routes',
  title: 'from 10 endpoints to 100,000 in 10,000 versions',
  run: async (context) => {
    const many = context.quick ? 10_000 : 100_000;
    const used = 1000;
    const filler = (endpoints: number): Filler => ({ endpoints, policy: OPEN_POLICY });
    const [few, same, spread] = [
      `${FEW} endpoints`,
      `${many} endpoints, ${FEW} in use`,
      `${many} endpoints, ${used} in use`,
    ];
    const contestants = [
      fillerContestant(few, filler(FEW), routeRequests(FEW, FEW)),
      fillerContestant(same, filler(many), routeRequests(FEW, many)),
      fillerContestant(spread, filler(many), routeRequests(used, many)),
    ];
    const figures = await compete(context, contestants);
    const processBytes = ((figures[1]?.residentBytes ?? NaN) - (figures[0]?.residentBytes ?? NaN)) / many;
    const workerBytes = (await snapshotBytes({ endpoints: many })) / many;
    const checks: Check[] = [
      ratio(figures, same, few, 'cpuUs', { atMost: 1.05 }),
      ratio(figures, spread, few, 'cpuUs', { atMost: 1.1 }),
      { what: 'compiled configuration per endpoint and worker', value: workerBytes, atMost: 1024, unit: 'B' },
      {
        what: 'memory of the process per endpoint (one worker, main thread)',
        value: processBytes,
        unit: 'B',
      },
    ];
    return { figures, checks, notes: contestants.map(({ startNote }) => startNote()) };
  },
};

export const keys: Workload = {
  id: 'h-keys',
  title: 'from 10 API keys to 1,000,000, full policy',
  run: async (context) => {
    const many = context.quick ? 20_000 : 1_000_000;
    // More than what a worker remembers of looked-up keys: most requests bring one that it has to look up.
    const used = Math.min(many, 100_000);
    const filler = (count: number): Filler => ({ endpoints: FEW, keys: count, policy: FULL_POLICY });
    const remembered = 10_000;
    const [few, same, most, spread] = [
      `${FEW} keys`,
      `${many} keys, ${FEW} in use`,
      `${many} keys, ${remembered} in use`,
      `${many} keys, ${used} in use`,
    ];
    const contestants = [
      fillerContestant(few, filler(FEW), keyRequests(FEW, FEW)),
      fillerContestant(same, filler(many), keyRequests(FEW, many)),
      fillerContestant(most, filler(many), keyRequests(remembered, many)),
      fillerContestant(spread, filler(many), keyRequests(used, many)),
    ];
    const figures = await compete(context, contestants);
    const processBytes = ((figures[1]?.residentBytes ?? NaN) - (figures[0]?.residentBytes ?? NaN)) / many;
    const tableBytes = keyTableBytes({ endpoints: FEW, keys: many }) / many;
    return {
      figures,
      checks: [
        ratio(figures, same, few, 'cpuUs', { atMost: 1.05 }),
        ratio(figures, most, few, 'cpuUs', { atMost: 1.05 }),
        ratio(figures, spread, few, 'cpuUs', { atMost: 1.05 }),
        { what: 'key table per key, once for all workers', value: tableBytes, atMost: 250, unit: 'B' },
        { what: 'memory of the process per key (one worker, main thread)', value: processBytes, unit: 'B' },
      ],
      notes: contestants.map(({ startNote }) => startNote()),
    };
  },
};
