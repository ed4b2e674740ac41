import { describe, expect, it } from 'vitest';
import { bodyOf, draftOf, patchOf } from './webhook-draft.ts';

const STORED = { name: 'on call', url: 'https://hooks.example/', events: ['key.*'], app_ids: ['a1', 'b2'] };

describe('what is sent of a webhook', () => {
  it('is everything of a new one; no event chosen means every event', () => {
    const draft = { name: ' on call ', url: ' https://hooks.example/ ', events: [], apps: 'shop, store' };
    expect(bodyOf(draft)).toEqual({
      name: 'on call',
      url: 'https://hooks.example/',
      events: ['*'],
      app_ids: ['shop', 'store'],
    });
  });

  it.each([
    [{}, {}],
    [{ name: 'pager ' }, { name: 'pager' }],
    [{ url: 'https://other.example/' }, { url: 'https://other.example/' }],
    [{ events: [] }, { events: ['*'] }],
    [{ apps: '' }, { app_ids: [] }],
    [{ apps: 'a1, shop' }, { app_ids: ['a1', 'shop'] }],
  ])('is only what was changed of one that is there: %j', (changed, patch) => {
    const opened = draftOf(STORED);
    expect(patchOf({ ...opened, ...changed }, opened)).toEqual(patch);
  });

  it('is empty if the API stored the value in another form than the form writes', () => {
    const opened = draftOf({ ...STORED, events: ['*', 'key.*'] });
    expect(patchOf(opened, opened)).toEqual({});
  });
});
