import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import type { AdminRole } from '../../model/resources.ts';
import { LIVE_STREAMS_MAX, LIVE_STREAMS_PER_ACTOR_MAX, LiveHub, type LiveStream } from './live-hub.ts';

it('lets a stream whose reader is gone without a word give way, after broken ones', () => {
  const hub = new LiveHub({ clock: systemClock });
  const gone = new Set<string>();
  const ended: string[] = [];
  const open = (name: string): LiveStream | string =>
    hub.open(
      {
        actorId: 'ada',
        role: 'viewer',
        filter: {},
        perSecond: 1,
        lastEventId: undefined,
        isUnanswered: () => gone.has(name),
      },
      { write: () => true, end: () => void ended.push(name) },
    );
  const first = open('0');
  for (let count = 1; count < LIVE_STREAMS_PER_ACTOR_MAX; count++) open(String(count));
  expect(open('more')).toBe('actor');
  gone.add('4');
  (first as LiveStream).leave(true);
  expect(open('more')).toHaveProperty('counts');
  expect(ended).toEqual([]);
  expect(open('even more')).toHaveProperty('counts');
  expect(ended).toEqual(['4']);
  expect(open('too many')).toBe('actor');
  expect(hub.watches).toHaveLength(LIVE_STREAMS_PER_ACTOR_MAX);
  hub.close();
});

it('gives an admin a stream although the streams of viewers have all places', () => {
  const hub = new LiveHub({ clock: systemClock });
  const ended: string[] = [];
  const open = (actorId: string, role: AdminRole): LiveStream | string =>
    hub.open(
      { actorId, role, filter: {}, perSecond: 1, lastEventId: undefined, isUnanswered: () => false },
      { write: () => true, end: () => void ended.push(actorId) },
    );
  for (let count = 0; count < LIVE_STREAMS_MAX; count++) open(`viewer${count}`, 'viewer');
  expect(open('viewer', 'viewer')).toBe('all');
  expect(open('admin', 'admin')).toHaveProperty('counts');
  expect(ended).toEqual([`viewer${LIVE_STREAMS_MAX - 1}`]);
  expect(open('admin', 'admin')).toBe('all');
  hub.close();
});
