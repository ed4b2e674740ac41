import { describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import type { Revision } from '../../model/resources.ts';
import { ConfigState } from './config-state.ts';

const treeWith = (fields: Partial<Revision>) =>
  appTree(
    appRecord({ id: 'a' }),
    versionTree(versionRecord({ id: 'v', app_id: 'a' }), {
      revision: revisionRecord({ id: 'r', version_id: 'v', ...fields }),
      endpoints: [],
    }),
  );

describe('ConfigState', () => {
  it('keeps the breaker of a revision while its backend is the same', () => {
    const state = new ConfigState();
    const first = configChange(1, { apps: [treeWith({})] });
    expect(state.apply(first)).toEqual([]);
    const [[, memory] = []] = state.breakersOf(first);
    expect(state.apply(configChange(2, { apps: [treeWith({ traffic_weight: 1 })] }))).toEqual([]);
    expect(state.breakerOf('r')).toBe(memory);
    expect(state.apply(configChange(3, { apps: [treeWith({ backend_port: 1 })] }))).toEqual(['r']);
    expect(state.breakerOf('r')).toBeUndefined();
  });

  it('replaces everything, and returns the removed breakers', () => {
    const state = new ConfigState();
    const first = configChange(1, { apps: [treeWith({})] });
    state.apply(first);
    const [[, memory] = []] = state.breakersOf(first);
    const all = configChange(5, { reset: true, apps: [treeWith({})] });
    // Workers drop breakers only when told; otherwise they would keep one that no other thread uses.
    expect(state.apply(all)).toEqual(['r']);
    expect(state.breakersOf(all)).toHaveLength(1);
    expect(state.breakerOf('r')).not.toBe(memory);
    expect(state.configVersion).toBe(5);
    expect(state.asChange().apps).toHaveLength(1);
  });
});
