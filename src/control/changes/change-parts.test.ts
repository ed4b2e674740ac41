import { deserialize } from 'node:v8';
import { expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  keyRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { inOneTurn } from '../../config/changes/slices.ts';
import type { VersionTree } from '../../model/config.ts';
import { packChange, recordsOf, unpackChange } from './change-parts.ts';

const MANY = 1_000;

function version(id: string, endpoints: number): VersionTree {
  const revision = revisionRecord({ id: `${id}-r`, version_id: id });
  const records = Array.from({ length: endpoints }, (_, index) =>
    endpointRecord({ path: `/${id}/${index}` }),
  );
  const empty = { revision: revisionRecord({ id: `${id}-empty` }), endpoints: [] };
  return versionTree(versionRecord({ id, app_id: 'a' }), empty, { revision, endpoints: records });
}

const revision = revisionRecord({ id: 'single' });
const change = {
  ...configChange(7, {
    apps: [
      appTree(appRecord({ id: 'a' }), version('v1', MANY), version('v2', 0)),
      appTree(appRecord({ id: 'b' })),
    ],
    versions: [version('v3', 3)],
    endpoints: [
      { versionId: 'v4', revision, endpointId: 'e1', endpoint: endpointRecord({ path: '/e1' }) },
      { versionId: 'v4', revision, endpointId: 'e2', endpoint: undefined },
    ],
    removedAppIds: ['c'],
    removedVersionIds: ['v5'],
  }),
  changeId: 'x',
  after: { configVersion: 4, changeId: undefined },
};

it('a change is the same after its way in parts, but for the keys', () => {
  const keys = { keys: [keyRecord({ id: '1' })], removedKeyIds: ['2'] };
  const unpacked = inOneTurn(unpackChange(inOneTurn(packChange({ ...change, ...keys }))));
  expect(unpacked).toEqual(change);
  // What is compiled of a shared record is shared.
  expect(unpacked.endpoints?.[0]?.revision).toBe(unpacked.endpoints?.[1]?.revision);
});

it('no part is large', () => {
  const parts = inOneTurn(packChange(change));
  const sizes = parts.map((part) => (deserialize(new Uint8Array(part)) as unknown[]).length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(200);
  expect(recordsOf(change)).toBe(MANY + 3 + 2 + 2 + 3 + 2 * 3);
});
