import { expect, it } from 'vitest';
import type { TreeRevision, TreeVersion } from '../../api/schema.ts';
import { revisionRows } from './revision-rows.ts';

const revision = (name: string, breaker: TreeRevision['breaker'], isCurrent = true): TreeRevision =>
  ({ id: name, revision: name, breaker, is_current: isCurrent }) as TreeRevision;

const version = (name: string, revisions: readonly TreeRevision[]): TreeVersion =>
  ({ version: name, revisions, revisions_total: revisions.length }) as TreeVersion;

it('shows what fails first, in the order of the versions otherwise, and counts those without traffic', () => {
  const { rows, idle } = revisionRows([
    version('v1', [revision('a', 'closed'), revision('b', null, false), revision('c', 'half_open')]),
    version('v2', [revision('d', 'open'), revision('e', 'closed')]),
  ]);
  expect(rows.map((row) => `${row.version} ${row.revision.revision}`)).toEqual([
    'v2 d',
    'v1 c',
    'v1 a',
    'v2 e',
  ]);
  expect(idle).toBe(1);
});
