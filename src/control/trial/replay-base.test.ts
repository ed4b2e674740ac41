import { expect, it } from 'vitest';
import type { ConfigChange, VersionTree } from '../../model/config.ts';
import { replayBase } from './replay-base.ts';

const version = (id: string, appId: string, path: string): VersionTree =>
  ({
    version: { id, app_id: appId, gateway_path: path },
    revisions: [{ revision: {}, endpoints: [] }],
  }) as unknown as VersionTree;

const change = (fields: object): ConfigChange => ({
  configVersion: 2,
  reset: false,
  apps: [],
  removedAppIds: [],
  versions: [],
  removedVersionIds: [],
  keys: [],
  removedKeyIds: [],
  ...fields,
});

const WHOLE = change({
  reset: true,
  apps: [
    { app: { id: 'a' }, versions: [version('a1', 'a', '/a/v1'), version('a2', 'a', '/a/v2')] },
    { app: { id: 'b' }, versions: [version('b1', 'b', '/a'), version('b2', 'b', '/b')] },
  ],
});

/** The versions that are there with all that is below them. */
const full = (fields: object, recorded: readonly string[] = []): string[] =>
  replayBase(WHOLE, change(fields), new Set(recorded)).apps.flatMap(({ versions }) =>
    versions.flatMap((tree) => (tree.revisions.length > 0 ? [tree.version.id] : [])),
  );

it('has every path, and in full what changes, what is above it, and what requests went to', () => {
  expect(replayBase(WHOLE, change({}), new Set()).apps.map(({ versions }) => versions.length)).toEqual([
    2, 2,
  ]);
  expect(full({})).toEqual([]);
  expect(full({ removedVersionIds: ['a2'] })).toEqual(['a2', 'b1']);
  expect(full({ versions: [version('b2', 'b', '/b')] })).toEqual(['b2']);
  expect(full({ apps: [{ app: { id: 'a' }, versions: [] }] })).toEqual(['a1', 'a2', 'b1']);
  expect(full({ removedAppIds: ['b'] }, ['a1'])).toEqual(['a1', 'b1', 'b2']);
});
