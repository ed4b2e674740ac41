/**
 * The time series of the overview: the whole window once, then only its last steps, and only while the page is
 * visible. A page that was hidden for longer reads the window again.
 */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { call } from '../../api/call.ts';
import type { Stats } from '../../api/schema.ts';
import { WINDOWS, withRecent, type WindowName } from './series.ts';

/** The subject of the overview; an empty text means any. */
export interface Subject {
  readonly window: WindowName;
  readonly app: string;
  readonly version: string;
  readonly route: string;
}

export interface Traffic {
  readonly window: Stats;
  /** The last steps alone, whose totals are the figures. */
  readonly recent: Stats;
  readonly readAtMs: number;
}

export function useTraffic(subject: Subject): UseQueryResult<Traffic> {
  const { everyMs } = WINDOWS[subject.window];
  return useQuery({
    queryKey: ['traffic', subject],
    queryFn: ({ client, queryKey, signal }) =>
      readTraffic(subject, client.getQueryData<Traffic>(queryKey), signal),
    refetchInterval: everyMs,
    staleTime: everyMs,
    // Thousands of numbers, most of which are new.
    structuralSharing: false,
  });
}

async function readTraffic(
  subject: Subject,
  before: Traffic | undefined,
  signal: AbortSignal,
): Promise<Traffic> {
  const { recentSecs } = WINDOWS[subject.window];
  const query = namedOnly(subject);
  const passedMs = before === undefined ? Number.POSITIVE_INFINITY : Date.now() - before.readAtMs;
  const isFresh = before !== undefined && passedMs < (recentSecs * 1_000) / 2;
  const base = isFresh ? before.window : (await call('GET /stats', { query, signal })).body.data;
  const endMs = Date.parse(base.to) + (isFresh ? passedMs : 0);
  const since = new Date(endMs - recentSecs * 1_000).toISOString();
  const { body } = await call('GET /stats', { query: { ...query, since }, signal });
  return { window: withRecent(base, body.data), recent: body.data, readAtMs: Date.now() };
}

function namedOnly({
  window,
  app,
  version,
  route,
}: Subject): Partial<Subject> & { readonly window: WindowName } {
  return {
    window,
    ...(app !== '' && { app }),
    ...(app !== '' && version !== '' && { version }),
    ...(app !== '' && version !== '' && route !== '' && { route }),
  };
}
