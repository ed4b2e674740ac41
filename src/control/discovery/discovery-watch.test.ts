/** Ten thousand sources on one node, against a real DNS server: bounds hold whether it answers or not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { startDnsServer, type DnsServer } from '../../../test/support/backends/dns-server.ts';
import { until } from '../../../test/support/measure/until.ts';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { Discovery, Revision } from '../../model/resources.ts';
import { createLogger } from '../../observe/log.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { LINE_MS, LINES_MAX } from './change-lines.ts';
import { DiscoveryWatch } from './discovery-watch.ts';
import { DOUBT_MS_MAX, DOUBTED_LOOKS_MAX } from './found-set.ts';
import { LOOKS_MAX } from './lane.ts';

const COUNT = 10_000;
const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

interface Setup {
  readonly dns: DnsServer;
  readonly dnsTimeoutMs?: number;
  readonly minIntervalMs?: number;
  readonly folder?: string;
  readonly count?: number;
  readonly clock?: Clock;
  readonly discovery: (index: number) => Discovery;
}

function start(setup: Setup) {
  const { dns, dnsTimeoutMs = 2_000, minIntervalMs = 60_000, folder, discovery } = setup;
  const { count = COUNT, clock = systemClock } = setup;
  const state = new ConfigState();
  const trees = Array.from({ length: count }, (_none, index) => ({
    revision: revisionRecord({ id: `r${index}`, version_id: 'v', discovery: discovery(index) }),
    endpoints: [],
  }));
  const version = versionTree(versionRecord({ id: 'v', app_id: 'a' }), ...trees);
  state.apply(configChange(1, { apps: [appTree(appRecord({ id: 'a' }), version)] }));
  const lines: string[] = [];
  const output = { write: (line: string) => void lines.push(line) };
  const watch = new DiscoveryWatch({
    state,
    clock,
    log: createLogger({ level: 'info', format: 'json', output, clock: systemClock }),
    egress: new Egress(
      { allow: [], deny: [], unixSocketsFrom: [] },
      new OwnListeners(createOwnPorts(), systemClock),
    ),
    settings: {
      dnsServers: [dns.address],
      dnsTimeoutMs,
      minIntervalMs,
      maxIntervalMs: 300_000,
      srvIntervalMs: 10_000,
      folder,
    },
  });
  const told: number[] = [];
  let underWay = 0;
  const startedMs = performance.now();
  watch.start(async (found) => {
    told.push(found.size);
    expect(++underWay).toBe(1);
    await new Promise((done) => setTimeout(done, 1));
    underWay -= 1;
  });
  stops.push(() => void watch.stop());
  return { state, watch, told, lines, startedMs };
}

async function server(): Promise<DnsServer> {
  const dns = await startDnsServer();
  stops.push(() => dns.close());
  return dns;
}

it('asks for ten thousand names one after another, and for each of them', { timeout: 180_000 }, async () => {
  const dns = await server();
  for (let index = 0; index < COUNT; index++) dns.setA(`n${index}.test`, ['10.0.0.1'], 3_600);
  const { state, startedMs } = start({
    dns,
    // A question is sent again when its answer is late, as it is where other programs have the processors.
    dnsTimeoutMs: 60_000,
    discovery: (index) => ({ type: 'dns', host: `n${index}.test`, port: 80 }),
  });
  // A thousand a second, with A and AAAA for each.
  await until(() => dns.questions.length > 2_000);
  const elapsedMs = performance.now() - startedMs;
  expect(dns.questions.length / 2).toBeLessThanOrEqual((elapsedMs / 1_000 + 0.2) * 1_000);
  const found = (): number =>
    [...state.discovered.sources()].filter(({ targets }) => targets.length > 0).length;
  // Counting ten thousand is work that would hold up what is counted.
  await until(() => found() === COUNT, 140_000, 200);
  expect(new Set(dns.questions).size).toBe(2 * COUNT);
  expect(dns.questions.length).toBeLessThan(2.2 * COUNT);
});

it('a DNS server that does not answer gets a bounded number of questions, and holds no file up', async () => {
  const dns = await server();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-files-'));
  stops.push(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'last.yaml'), '- host: 10.0.0.1');
  dns.mode = 'silent';
  const { state, watch } = start({
    dns,
    dnsTimeoutMs: 60_000,
    folder,
    discovery: (index) =>
      index === COUNT - 1
        ? { type: 'file', path: 'last.yaml' }
        : { type: 'dns', host: `n${index}.test`, port: 80 },
  });
  await until(() => dns.questions.length >= 2 * LOOKS_MAX, 10_000);
  // Long before the first question is given up.
  const targets = (): number | undefined => {
    const revision = state.discovered.revision(`r${COUNT - 1}`);
    return revision && watch.healthOf(revision)?.targets;
  };
  await until(() => targets() === 1, 10_000);
  expect(new Set(dns.questions).size).toBe(2 * LOOKS_MAX);
});

it('ten thousand revisions with one source are one question, and are told in parts', async () => {
  const dns = await server();
  dns.setA('one.test', ['10.0.0.1', '10.0.0.2'], 3_600);
  const { state, told, watch } = start({
    dns,
    discovery: () => ({ type: 'dns', host: 'ONE.test', port: 80 }),
  });
  await until(() => told.reduce((sum, count) => sum + count, 0) === COUNT, 20_000);
  expect(dns.questions).toHaveLength(2);
  expect(Math.max(...told)).toBe(200);
  const revision = state.discovered.revision('r77');
  expect(revision && watch.healthOf(revision)).toMatchObject({ targets: 2, stale_since: null, error: null });
});

it('says once that a source fails, and once that it works again', async () => {
  const dns = await server();
  dns.mode = 'servfail';
  const { lines } = start({
    dns,
    minIntervalMs: 100,
    discovery: () => ({ type: 'dns', host: 'one.test', port: 80 }),
  });
  await until(() => dns.count('A one.test') >= 3, 10_000);
  dns.setA('one.test', ['10.0.0.1'], 1);
  dns.mode = 'ok';
  const messages = (): string[] => lines.map((line) => String((JSON.parse(line) as { msg: unknown }).msg));
  await until(() => messages().length >= 3, 10_000);
  expect(messages()).toEqual([
    'discovery fails; no targets were found before',
    'discovery works again',
    'discovered targets have changed',
  ]);
});

it.each([
  ['and other ones each time', false],
  ['and fails every other time', true],
])('a source that finds few targets, %s, is believed in the end', async (_what, alsoFails) => {
  const dns = await server();
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => performance.now() + aheadMs };
  const discovery: Discovery = { type: 'dns', host: 'few.test', port: 80 };
  dns.setA('few.test', ['10.0.0.1', '10.0.0.2', '10.0.0.3'], 0);
  const { state, watch } = start({ dns, clock, count: 1, minIntervalMs: 100, discovery: () => discovery });
  const revision = state.discovered.revision('r0');
  const health = () => revision && watch.healthOf(revision);
  await until(() => health()?.targets === 3, 10_000);
  for (let answer = 1; answer <= DOUBTED_LOOKS_MAX; answer += 1) {
    const asked = dns.count('A few.test');
    dns.setA('few.test', [`10.0.1.${answer}`], 0);
    aheadMs += DOUBT_MS_MAX / (DOUBTED_LOOKS_MAX - 1);
    await until(() => dns.count('A few.test') > asked && health()?.doubted === 1, 10_000);
    expect(health()?.targets).toBe(3);
    if (!alsoFails) continue;
    dns.mode = 'servfail';
    aheadMs += 2_000;
    await until(() => health()?.stale_since !== null, 10_000);
    dns.mode = 'ok';
  }
  dns.setA('few.test', ['10.0.1.99'], 0);
  aheadMs += 2_000;
  await until(() => health()?.targets === 1, 10_000);
  expect(health()?.doubted).toBeNull();
  // The first look-up that found this address is believed.
  expect(watch.counts.get('dns')?.doubted).toBe(DOUBTED_LOOKS_MAX);
});

it('a name that has other addresses in each answer does not fill the log', async () => {
  const dns = await server();
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => performance.now() + aheadMs };
  const discovery: Discovery = { type: 'dns', host: 'moving.test', port: 80 };
  const { state, lines } = start({ dns, clock, count: 1, minIntervalMs: 100, discovery: () => discovery });
  const changes = (): Record<string, unknown>[] =>
    lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'discovered targets have changed');
  const move = async (answer: number): Promise<void> => {
    dns.setA('moving.test', [`10.0.0.${answer}`], 0);
    aheadMs += 100;
    await until(() => [...state.discovered.sources()][0]?.targets[0]?.host === `10.0.0.${answer}`, 10_000);
  };
  for (let answer = 1; answer <= LINES_MAX + 4; answer += 1) await move(answer);
  expect(changes()).toHaveLength(LINES_MAX);
  aheadMs += LINE_MS;
  await until(() => changes().length > LINES_MAX, 10_000);
  expect(changes().at(-1)).toMatchObject({ changes: 4, added: [`10.0.0.${LINES_MAX + 4}:80`] });
});

it('a name that fails every other time does not fill the log', async () => {
  const dns = await server();
  let aheadMs = 0;
  const clock = { ...systemClock, monotonicMs: () => performance.now() + aheadMs };
  const discovery: Discovery = { type: 'dns', host: 'shaky.test', port: 80 };
  dns.setA('shaky.test', ['10.0.0.1'], 0);
  const { state, lines, watch } = start({
    dns,
    clock,
    count: 1,
    minIntervalMs: 100,
    discovery: () => discovery,
  });
  const messages = (): string[] =>
    lines
      .map((line) => String((JSON.parse(line) as { msg: unknown }).msg))
      .filter((text) => text.startsWith('discovery '));
  const isStale = (): boolean => {
    const revision = state.discovered.revision('r0');
    return revision !== undefined && watch.healthOf(revision)?.stale_since !== null;
  };
  await until(() => [...state.discovered.sources()][0]?.targets.length === 1, 10_000);
  for (let change = 0; change < LINES_MAX + 4; change += 1) {
    dns.mode = change % 2 === 0 ? 'servfail' : 'ok';
    aheadMs += 1_000;
    await until(() => isStale() === (change % 2 === 0), 10_000);
  }
  expect(messages()).toHaveLength(LINES_MAX);
  aheadMs += LINE_MS;
  await until(() => messages().length > LINES_MAX, 10_000);
  expect(messages().at(-1)).toBe('discovery works again');
});

it('a source that waits for long is reported as stale, and a removed one frees its place', async () => {
  const dns = await server();
  dns.mode = 'silent';
  const clock = { ...systemClock, monotonicMs: () => performance.now() + aheadMs };
  let aheadMs = 0;
  const { state, watch, lines } = start({
    dns,
    clock,
    count: LOOKS_MAX + 3,
    dnsTimeoutMs: 60_000,
    discovery: (index) => ({ type: 'dns', host: `n${index}.test`, port: 80 }),
  });
  await until(() => dns.questions.length >= 2 * LOOKS_MAX, 5_000);
  const last = state.discovered.revision(`r${LOOKS_MAX + 2}`) as Revision;
  expect(watch.healthOf(last)).toMatchObject({ stale_since: null, error: null });
  aheadMs = 31_000;
  await until(() => watch.healthOf(last)?.stale_since !== null, 2_000);
  expect(watch.healthOf(last)?.error).toBe('no lookup for 30 s: lookups of other sources take too long');
  const overdue = lines.filter((line) => line.includes('discovery is overdue'));
  expect(overdue).toHaveLength(LOOKS_MAX + 3);
  // Those that hold all places are gone: the others are looked at, though nothing was answered.
  dns.setA(`n${LOOKS_MAX + 2}.test`, ['10.0.0.1'], 60);
  dns.mode = 'ok';
  for (let index = 0; index < LOOKS_MAX; index++) state.discovered.delete(`r${index}`);
  await until(() => watch.healthOf(last)?.targets === 1, 2_000);
  expect(watch.healthOf(last)).toMatchObject({ stale_since: null, error: null });
});
