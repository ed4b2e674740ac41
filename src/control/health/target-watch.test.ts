/** Ejection by comparison goes on beside revisions that have no targets, and beside those with a defect. */
import { expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Revision } from '../../model/resources.ts';
import { createLogger } from '../../observe/log.ts';
import { TargetState } from '../../proxy/targets/target-state.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { TargetMemories } from '../cluster/target-memories.ts';
import { TargetWatch } from './target-watch.ts';

const target = (host: string) => ({ host, port: 80, weight: 100 });
const several: Revision = revisionRecord({
  id: 'several',
  version_id: 'v',
  targets: [target('10.0.0.1'), target('10.0.0.2'), target('10.0.0.3')],
});

function setUp(first: Revision) {
  const state = new ConfigState();
  state.shareTargets(new TargetMemories(2, () => systemClock.nowMs()));
  const trees = [first, several].map((revision) => ({ revision, endpoints: [] }));
  const version = versionTree(versionRecord({ id: 'v', app_id: 'a' }), ...trees);
  const change = configChange(1, { apps: [appTree(appRecord({ id: 'a' }), version)] });
  state.apply(change);
  state.targetsOf(change);
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'info', format: 'json', output, clock: systemClock });
  return { state, lines, watch: new TargetWatch(state, systemClock, log) };
}

/** The first target fails each of 200 requests, the others none. */
function send(state: ConfigState): void {
  const memory = state.targetMemory('several');
  if (memory === undefined) throw new Error('the revision has several targets');
  [...memory.blocks.values()].forEach((block, index) => {
    const worker = new TargetState(block, new Int32Array(memory.total), 1);
    for (let count = 0; count < 200; count++) {
      worker.begun();
      if (index === 0) worker.failed();
      else worker.succeeded();
      worker.ended();
    }
  });
}

const statesOf = (watch: TargetWatch) => watch.healthOf(several)?.map(({ state }) => state);

it('a revision without found targets does not stop the comparison of others', () => {
  const discovery = { type: 'dns', host: 'no.test', port: 80 } as const;
  const { state, watch, lines } = setUp(revisionRecord({ id: 'empty', version_id: 'v', discovery }));
  expect(state.targetMemory('empty')?.blocks.size).toBe(0);
  watch.tick();
  send(state);
  watch.tick();
  expect(statesOf(watch)).toEqual(['ejected', 'in_service', 'in_service']);
  expect(lines.filter((line) => line.includes('"error"'))).toEqual([]);
});

it('a revision with a defect is reported once, and does not stop the comparison of others', () => {
  const broken = revisionRecord({
    id: 'broken',
    version_id: 'v',
    targets: [target('10.0.1.1'), target('10.0.1.2')],
  });
  const { state, watch, lines } = setUp(broken);
  const memory = state.targetMemory('broken');
  for (const key of memory?.blocks.keys() ?? []) memory?.blocks.set(key, new SharedArrayBuffer(3));
  for (let count = 0; count < 3; count++) watch.tick();
  send(state);
  watch.tick();
  expect(statesOf(watch)).toEqual(['ejected', 'in_service', 'in_service']);
  const told = lines.filter((line) =>
    line.includes('a defect: the targets of a revision cannot be compared'),
  );
  expect(told).toHaveLength(1);
  expect(told[0]).toContain('"revision_id":"broken"');
});
