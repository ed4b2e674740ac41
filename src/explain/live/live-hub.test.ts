import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { LIVE_STREAMS_PER_ACTOR_MAX, LiveHub, type LiveStream } from './live-hub.ts';

it('lets a stream whose reader is gone without a word give way, after broken ones', () => {
  const hub = new LiveHub({ clock: systemClock });
  const gone = new Set<string>();
  const ended: string[] = [];
  const open = (name: string): LiveStream | string =>
    hub.open(
      {
        actorId: 'ada',
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
