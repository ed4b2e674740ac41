import { expect, it } from 'vitest';
import { changedTexts, partText } from './part-text.ts';

it('says what a part has in words rather than as JSON', () => {
  expect(partText({ enabled: true, requests: 5, per: 'api_key' })).toBe(
    'enabled: true, requests: 5, per: api_key',
  );
  expect(partText(['orders:read', 'orders:write'])).toBe('orders:read, orders:write');
  expect(partText({ request: { set: { 'X-Team': 'a' } } })).toBe('request.set.X-Team: a');
  expect(partText([])).toBe('[]');
  expect(partText(4096)).toBe('4096');
});

it('says of two values what differs, and all where that would be nothing', () => {
  const limit = { enabled: true, requests: 5, window_seconds: 60 };
  expect(changedTexts(limit, { ...limit, requests: 8 })).toEqual(['requests: 5', 'requests: 8']);
  expect(changedTexts(limit, { ...limit, per: 'ip' })).toEqual(['', 'per: ip']);
  expect(changedTexts({ auth_type: 'none' }, { auth_type: 'none' })).toEqual([
    'auth_type: none',
    'auth_type: none',
  ]);
  expect(changedTexts(['GET'], ['GET', 'POST'])).toEqual(['GET', 'GET, POST']);
});
