import { expect, it } from 'vitest';
import { trafficText, type ShownTraffic } from './traffic-text.ts';

const side = (status: number | null, code: string | null = null, backends: readonly string[] = []) => ({
  status,
  code,
  backends,
  cors_refused: false,
});
const EMPTY: ShownTraffic = {
  requests: 10_000,
  recorded: 10_000,
  changed: 0,
  undecided: 0,
  groups: [],
  groups_total: 0,
  problem: null,
};

it('says what changes for whom, in the order of the plan', () => {
  const text = trafficText({
    ...EMPTY,
    changed: 320,
    undecided: 3,
    groups_total: 4,
    groups: [
      {
        from: side(200),
        to: side(401, 'credentials_invalid'),
        by: { kind: 'api_key', id: 'k', name: 'mobile' },
        count: 312,
        first: 'GET /billing/v1/invoices',
      },
      {
        from: side(200, null, ['http://a/x']),
        to: side(null, null, ['http://b/x', 'http://c/x']),
        by: { kind: 'jwt', id: 'alice', name: '' },
        count: 5,
        first: 'GET /a',
      },
      {
        from: side(404, 'no_route'),
        to: { ...side(null), cors_refused: true },
        by: { kind: 'anonymous', id: '', name: '' },
        count: 2,
        first: 'PUT /b',
      },
    ],
  });
  expect(text).toBe(
    [
      'Of the last 10,000 requests, 320 would be answered differently:',
      '  312 of 10,000: 200 → 401 credentials_invalid by key "mobile", first GET /billing/v1/invoices',
      '  5 of 10,000: http://a/x → http://b/x or http://c/x by subject "alice", first GET /a',
      '  2 of 10,000: 404 no_route → the backend (refused by CORS) by anonymous callers, first PUT /b',
      '  … and others, in 1 more groups',
      'For 3 more it is unknown: their credential was not read when they came.',
      '',
    ].join('\n'),
  );
});

it('says plainly that nothing changes, that time was short, or that it cannot say', () => {
  expect(trafficText(EMPTY)).toBe('None of the last 10,000 requests would be answered differently.\n');
  expect(trafficText({ ...EMPTY, requests: 9_000 })).toBe(
    'None of the last 9,000 requests would be answered differently.\nThere was no time for 1,000 older requests.\n',
  );
  expect(trafficText({ ...EMPTY, requests: 0, recorded: 0 })).toBe('');
  expect(trafficText({ ...EMPTY, problem: 'the gateway is busy with other plans' })).toBe(
    'The recent requests could not be tried: the gateway is busy with other plans.\n',
  );
});
