import { expect, it } from 'vitest';
import { uuidv7 } from '../../../lib/ids.ts';
import { idAfter } from './event-rows.ts';

/** Further than the clocks of other tests that share this process. */
const CENTURY_MS = 3_155_760_000_000;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it('ids grow although the clock of another gateway is ahead, and other ids do not run ahead with them', () => {
  const nowMs = Date.now();
  const ahead = `${(nowMs + CENTURY_MS)
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7fff-bfff-ffffffffffff`;
  const ids = [ahead];
  for (let index = 0; index < 100; index += 1) ids.push(idAfter(ids.at(-1) ?? '', nowMs));
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids.slice(1)) expect(id).toMatch(UUID_V7);
  expect(uuidv7(nowMs) < ahead).toBe(true);
});
