import { expect, it } from 'vitest';
import type { DryRunEndpoint } from '../../api/schema.ts';
import { groupsOf } from './effect-groups.ts';

const endpoint = (id: number, change: Partial<DryRunEndpoint> = {}): DryRunEndpoint => ({
  change: 'changed',
  version: 'v1',
  revision: 'r1',
  revision_id: 'r',
  endpoint_id: String(id),
  method: 'GET',
  before: { route: `/a/${id}`, serves: true },
  after: { route: `/a/${id}`, serves: true },
  parts: [
    {
      part: 'rate_limit',
      before: null,
      after: { value: { requests: 5 }, source: { level: 'app', id: 'a' } },
    },
  ],
  admits: null,
  ...change,
});

it('shows once what happens to many routes, and each move separately', () => {
  const many = Array.from({ length: 98 }, (_, index) => endpoint(index));
  const moved = [100, 101].map((id) => endpoint(id, { after: { route: `/b/${id}`, serves: true } }));
  const stopped = endpoint(102, { after: { route: '/a/102', serves: false } });
  const groups = groupsOf([...many, ...moved, stopped]);
  expect(groups.map(({ routes }) => routes.length)).toEqual([98, 1, 1, 1]);
});
