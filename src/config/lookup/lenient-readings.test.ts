import { expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  endpointRecord,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { inOneTurn } from '../changes/slices.ts';
import type { EffectivePolicy } from '../../model/policy.ts';
import type { Endpoint } from '../../model/resources.ts';
import { SnapshotHolder } from '../holder.ts';
import { lenientReadings } from './lenient-readings.ts';
import type { CompiledRevision } from '../types.ts';

const MANY = 600;

const revision = revisionRecord({ id: 'r', version_id: 'v' });
const endpoint = (path: string, fields: Partial<Endpoint> = {}): Endpoint =>
  endpointRecord({ path, id: path, ...fields });

function setUp(...endpoints: Endpoint[]) {
  const holder = new SnapshotHolder<EffectivePolicy>((effective) => ({ ...effective }));
  const version = versionTree(versionRecord({ id: 'v', app_id: 'a' }), { revision, endpoints });
  holder.apply(configChange(1, { apps: [appTree(appRecord({ id: 'a' }), version)] }));
  return {
    put(id: string, changed: Endpoint | undefined): void {
      const endpoints1 = [{ versionId: 'v', revision, endpointId: id, endpoint: changed }];
      holder.apply(configChange(holder.current.configVersion + 1, { endpoints: endpoints1 }));
    },
    get revision(): CompiledRevision<EffectivePolicy> {
      const [first] = holder.current.findVersion('/a/v')?.revisions ?? [];
      if (first === undefined) throw new Error('there is no revision');
      return first;
    },
  };
}

const many = (prefix: string): Endpoint[] =>
  Array.from({ length: MANY }, (_, index) => endpoint(`/${prefix}/${index}`, { is_active: index > 0 }));

const foundAnew = ({ endpoints, fallback }: CompiledRevision<EffectivePolicy>) =>
  inOneTurn(lenientReadings(endpoints.entries, fallback));

it('are known when a large revision is compiled, and found out later for a small one', () => {
  const large = setUp(...many('Items'));
  expect(large.revision.endpoints.lenient?.byLenientPath?.entries).toHaveLength(MANY);
  expect(setUp(endpoint('/Items/1', { is_active: false })).revision.endpoints.lenient).toBeUndefined();
});

it('are known after each change of an endpoint, and those that one finds anew', () => {
  const config = setUp(...many('items'));
  const plain = config.revision.endpoints.lenient;
  expect(plain).toEqual({ isUniform: false, byLenientPath: undefined });
  config.put('/new', endpoint('/new/{id}'));
  config.put('/items/7', undefined);
  expect(config.revision.endpoints.lenient).toBe(plain);
  config.put('/New', endpoint('/New'));
  expect(config.revision.endpoints.lenient?.byLenientPath).toBeDefined();
  expect(config.revision.endpoints.lenient).toEqual(foundAnew(config.revision));
  config.put('/New', undefined);
  expect(config.revision.endpoints.lenient).toBe(plain);
});
