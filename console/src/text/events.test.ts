/** Words for events: no type of the catalogue is without a sentence, and each is of the catalogue's level. */
import { expect, it } from 'vitest';
import { EVENT_ROWS, matchesType } from '../../../src/model/events/events.ts';
import { EVENT_GROUPS, eventLevel, eventsWords, eventText, KNOWN_EVENTS } from './events.ts';

it('has a sentence, a level and a group for each type', () => {
  expect([...KNOWN_EVENTS].toSorted()).toEqual(EVENT_ROWS.map(({ type }) => type).toSorted());
  const groups = EVENT_GROUPS.map(({ value }) => value);
  for (const { type, level } of EVENT_ROWS) {
    expect(eventText(type, {}), type).not.toBe(type);
    expect(eventLevel(type), type).toBe(level);
    // The test of a webhook is in no list.
    expect(matchesType(groups, type), type).toBe(type !== 'webhook.test');
  }
});

it.each([
  ['key.expiring', { days_left: 1 }, 'Expires in 1 day'],
  [
    'breaker.opened',
    { reason: 'status 503', left_out: 4 },
    'Its circuit breaker opened: status 503 (and 4 more like it)',
  ],
  ['revision.rolled_back', { replaced: ['r2', 'r3'] }, 'Takes traffic again in place of r2, r3'],
  ['unheard.of', {}, 'unheard.of'],
])('%s %j: %s', (type, data, sentence) => {
  expect(eventText(type, data)).toBe(sentence);
});

it('names what a change of the configuration is about, also several changes at once', () => {
  for (const kind of ['app', 'version', 'revision', 'endpoint', 'token', 'config', 'transaction'])
    expect(eventsWords.kinds[kind], kind).toMatch(/^[A-Z]/);
  expect(eventsWords.kinds['config']).not.toBe(eventsWords.kinds['version']);
});
