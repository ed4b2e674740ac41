import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyOf, patchOf, readLabels, shownValue, type FieldKinds } from './record-draft.ts';

const KINDS: FieldKinds = {
  '/name': 'text',
  '/port': 'number',
  '/tls/verify': 'flag',
  '/tls/name': 'text',
  '/statuses': 'list',
  '/sunset_at': 'time',
  '/labels': 'labels',
};
const RECORD = {
  name: 'Billing',
  port: 443,
  tls: { verify: true, name: 'a', unknown_to_the_form: 1 },
  statuses: ['2xx', 204],
  sunset_at: '2030-01-01T00:00:00.000Z',
  labels: { team: 'a', tier: '1' },
};

describe('patchOf', () => {
  it('has only what was changed, also inside of objects', () => {
    expect(patchOf(RECORD, { '/name': 'Bills', '/tls/verify': false }, KINDS)).toEqual({
      name: 'Bills',
      tls: { verify: false },
    });
  });

  it('is empty if the typed values are those of the record', () => {
    const edits = Object.fromEntries(
      Object.entries(KINDS).map(([pointer, kind]) => [pointer, shownValue(RECORD, pointer, kind)]),
    );
    expect(patchOf(RECORD, edits, KINDS)).toBeUndefined();
  });

  it.each([
    ['an emptied field', { '/tls/name': '' }, { tls: { name: null } }],
    ['a number', { '/port': '8443' }, { port: 8443 }],
    ['text in place of a number, for the API to refuse', { '/port': '80a' }, { port: '80a' }],
    ['a list', { '/statuses': '200, 3xx ,' }, { statuses: [200, '3xx'] }],
    ['an emptied list', { '/statuses': ' ' }, { statuses: null }],
    ['labels by name', { '/labels': 'team=b\nnew' }, { labels: { tier: null, team: 'b', new: '' } }],
  ])('sends %s', (_, edits, patch) => {
    expect(patchOf(RECORD, edits, KINDS)).toEqual(patch);
  });

  it('makes an object where the record has none', () => {
    expect(patchOf({ tls: null }, { '/tls/name': 'b' }, KINDS)).toEqual({ tls: { name: 'b' } });
  });

  it('keeps any whole minute of a time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 60_000_000 }), (minutes) => {
        const sunset_at = new Date(minutes * 60_000).toISOString();
        const shown = shownValue({ sunset_at }, '/sunset_at', 'time');
        expect(patchOf({ sunset_at: null }, { '/sunset_at': shown }, KINDS)).toEqual({ sunset_at });
      }),
    );
  });
});

describe('bodyOf', () => {
  it('leaves out what was left empty', () => {
    expect(bodyOf({ '/name': 'a', '/port': '', '/tls/verify': false, '/labels': 'x=y' }, KINDS)).toEqual({
      name: 'a',
      tls: { verify: false },
      labels: { x: 'y' },
    });
  });
});

it('reads labels as they are shown', () => {
  const name = fc.stringMatching(/^[a-z0-9._/-]{1,20}$/).filter((text) => text !== '__proto__');
  const value = fc.stringMatching(/^[!-~]{0,20}$/);
  fc.assert(
    fc.property(fc.dictionary(name, value, { noNullPrototype: true }), (labels) => {
      expect(readLabels(String(shownValue({ labels }, '/labels', 'labels')))).toEqual(labels);
    }),
  );
});

describe('a variant', () => {
  const kinds = {
    '/discovery/type': 'variant',
    '/discovery/host': 'text',
    '/discovery/port': 'number',
  } as const;
  const looked = { discovery: { type: 'dns', host: 'a.test', port: 80 } };

  it('that is emptied removes the object, with what is typed of it', () => {
    const edits = { '/discovery/type': '', '/discovery/host': 'b.test' };
    expect(patchOf(looked, edits, kinds)).toEqual({ discovery: null });
    expect(bodyOf(edits, kinds, 'with nulls')).toEqual({ discovery: null });
  });

  it('that is chosen is sent with the fields beside it', () => {
    const edits = { '/discovery/type': 'dns', '/discovery/host': 'b.test', '/discovery/port': '81' };
    const discovery = { type: 'dns', host: 'b.test', port: 81 };
    expect(patchOf({ discovery: null }, edits, kinds)).toEqual({ discovery });
    expect(bodyOf(edits, kinds)).toEqual({ discovery });
  });

  it('that stays leaves the object', () => {
    expect(patchOf(looked, { '/discovery/type': 'dns', '/discovery/port': '81' }, kinds)).toEqual({
      discovery: { port: 81 },
    });
  });
});

it('a number is what people write as one; other text is sent as it is, and the API says what is wrong', () => {
  const sent = (text: string): unknown => bodyOf({ '/port': text }, { '/port': 'number' })['port'];
  expect([' 80 ', '-1', '1.5'].map(sent)).toEqual([80, -1, 1.5]);
  for (const text of ['1e3', '0x10', '8 0', 'Infinity', '1.']) expect(sent(text)).toBe(text);
});
