/** When an order is due, also with moments that a machine with another clock has stored. */
import { expect, it } from 'vitest';
import type { AcmeCertificate } from '../../storage/acme-store.ts';
import { dueNow } from './renewal.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 20_000 * DAY_MS;
const DIRECTORY = 'https://directory.test/';
const valid: AcmeCertificate = {
  name: 'shop.test',
  directory: DIRECTORY,
  chain: 'chain',
  private_key: 'key',
  valid_from_ms: NOW_MS - DAY_MS,
  expires_at_ms: NOW_MS + DAY_MS,
  renew_at_ms: NOW_MS - 1,
  window_check_ms: null,
  failures: 0,
  last_error: null,
  failed_at_ms: null,
  next_try_ms: 0,
  order_directory: null,
  order_key: null,
  order_url: null,
  order_started_ms: null,
};

it.each<[string, Partial<AcmeCertificate>, string | undefined]>([
  ['no wait', {}, 'renewal'],
  ['a renewal that is later', { renew_at_ms: NOW_MS + 1 }, undefined],
  ['the longest wait after a failure', { next_try_ms: NOW_MS + 1.1 * DAY_MS }, undefined],
  ['a wait of a year, from a wrong clock', { next_try_ms: NOW_MS + 365 * DAY_MS }, 'renewal'],
  ['an end', { expires_at_ms: NOW_MS }, 'missing'],
])('%s', (_what, change, reason) => {
  expect(dueNow({ ...valid, ...change }, DIRECTORY, NOW_MS, false)).toBe(reason);
});

it.each<[string, Partial<AcmeCertificate>, boolean, string | undefined]>([
  ['waits for the right key', {}, false, undefined],
  ['is replaced once it was waited for', {}, true, 'missing'],
  ['is replaced at once when an operator asks for it', { renew_at_ms: 0 }, false, 'missing'],
  ['is replaced at once when it has expired', { expires_at_ms: NOW_MS }, false, 'missing'],
  ['waits after a failure like any other', { next_try_ms: NOW_MS + DAY_MS }, true, undefined],
])('a certificate whose key does not open %s', (_what, change, replaces, reason) => {
  expect(dueNow({ ...valid, private_key: null, ...change }, DIRECTORY, NOW_MS, replaces)).toBe(reason);
});
