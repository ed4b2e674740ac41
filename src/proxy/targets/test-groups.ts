/** Groups of targets with their own memory, for tests of balancing. */
import { BALANCING_DEFAULTS, compileBalancing } from '../../config/targets.ts';
import type { CompiledTarget } from '../../config/types.ts';
import type { LoadBalancing } from '../../model/resources.ts';
import { TargetGroup } from './target-group.ts';
import { createTargetBlock, createTotal } from './target-memory.ts';
import { TargetState } from './target-state.ts';

export interface TestGroup {
  readonly group: TargetGroup;
  readonly blocks: readonly SharedArrayBuffer[];
  readonly total: Int32Array;
  /** The wall clock of the group. */
  readonly clock: { nowMs: number };
}

export interface TestGroupSetup {
  readonly weights: readonly number[];
  readonly settings?: LoadBalancing;
  readonly columns?: number;
  readonly column?: number;
  /** Another group whose memory it shares. */
  readonly shared?: TestGroup;
  readonly names?: readonly string[];
  /** By target; and the zone of the gateway. */
  readonly zones?: readonly (string | undefined)[];
  readonly zone?: string;
}

const AT_MS = Date.UTC(2026, 0, 1);

export function testGroup(setup: TestGroupSetup): TestGroup {
  const { weights, settings = {}, columns = 2, column = 0, shared } = setup;
  const list = weights.map((weight, index) =>
    testTarget(setup.names?.[index] ?? `10.0.0.${index + 1}`, weight, setup.zones?.[index]),
  );
  const clock = shared?.clock ?? { nowMs: AT_MS };
  const total = shared?.total ?? new Int32Array(createTotal(columns));
  const blocks = shared?.blocks ?? weights.map(() => createTargetBlock(columns));
  const states = blocks.map((block) => new TargetState(block, total, column));
  const balancing = compileBalancing({ ...BALANCING_DEFAULTS, ...settings });
  const group = new TargetGroup(
    { list, balancing, source: undefined },
    states,
    total,
    () => clock.nowMs,
    setup.zone,
  );
  return { group, blocks, total, clock };
}

function testTarget(host: string, weight: number, zone: string | undefined): CompiledTarget {
  const backend = {
    scheme: 'http',
    protocol: 'http1',
    host,
    port: 80,
    authority: host,
    hostField: host,
    foundAs: undefined,
    basePath: '',
    tls: undefined,
    poolKey: `http://${host}:80`,
    connectionsMax: undefined,
    waitingMax: undefined,
  } as const;
  return { key: backend.poolKey, backend, weight, zone };
}
