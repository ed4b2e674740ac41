import * as net from 'node:net';
import { lookup } from 'node:dns/promises';
import { afterEach, describe, expect, it } from 'vitest';
import {
  appRecord,
  appTree,
  configChange,
  revisionRecord,
  versionRecord,
  versionTree,
} from '../../../test/support/data/config-records.ts';
import { until } from '../../../test/support/measure/until.ts';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Revision } from '../../model/resources.ts';
import { createLogger } from '../../observe/log.ts';
import { Breaker, type BreakerMemory } from '../../proxy/resilience/breaker.ts';
import { Deadlines } from '../../proxy/resilience/deadlines.ts';
import { ClientCertificates } from '../../proxy/upstream/tls/backend-tls.ts';
import { UpstreamPool } from '../../proxy/upstream/pool/pool.ts';
import { createLookup } from '../../proxy/upstream/resolver.ts';
import { ConfigState } from '../cluster/config-state.ts';
import { HealthRegistry } from './health-registry.ts';
import { HealthProbe } from './health-probe.ts';
import { PROBES_MAX } from './probe-line.ts';
import { steadily } from '../../../test/support/measure/steady.ts';

/** A backend that counts connections and how many are open at once, and answers when the test tells it to. */
async function startBackend(answer: (socket: net.Socket, path: string) => void) {
  const open = new Set<net.Socket>();
  const paths = new Map<string, number>();
  let most = 0;
  const server = net.createServer((socket) => {
    open.add(socket);
    most = Math.max(most, open.size);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
    socket.once('data', (bytes: Buffer) => {
      const path = bytes.toString('latin1').split(' ')[1] ?? '';
      paths.set(path, (paths.get(path) ?? 0) + 1);
      answer(socket, path);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    port: (server.address() as net.AddressInfo).port,
    paths,
    most: () => most,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

const stops: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

type Probe = NonNullable<Revision['circuit_breaker']>['probe'];

function revisionTree(id: string, versionId: string, port: number, probe: Probe) {
  const revision = revisionRecord({
    id,
    version_id: versionId,
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: port,
    health_check_path: `/${id}`,
    circuit_breaker: probe === undefined ? null : { probe },
  });
  return { revision, endpoints: [] };
}

/**
 * Revisions `r0`, `r1` … of one version, probed at `/r0`, `/r1` …
 * @param other port of a backend of another app, with the revision `other`
 */
function start(port: number, count: number, probe: Probe, other?: number) {
  const state = new ConfigState();
  const trees = Array.from({ length: count }, (_, index) => revisionTree(`r${index}`, 'v', port, probe));
  const version = versionTree(versionRecord({ id: 'v', app_id: 'a' }), ...trees);
  const apps = [appTree(appRecord({ id: 'a' }), version)];
  if (other !== undefined) {
    const tree = revisionTree('other', 'w', other, { interval_ms: 200 });
    const second = versionTree(versionRecord({ id: 'w', app_id: 'b', gateway_path: '/b/v1' }), tree);
    apps.push(appTree(appRecord({ id: 'b', slug: 'b', gateway_path: '/b' }), second));
  }
  const change = configChange(1, { apps });
  state.apply(change);
  const breakers = new Map(state.breakersOf(change).map(([id, memory]) => [id, new Breaker(memory)]));
  const log = createLogger({
    level: 'silent',
    format: 'json',
    output: { write: () => undefined },
    clock: systemClock,
  });
  const pool = new UpstreamPool(new Deadlines(systemClock), {
    idleMax: 0,
    idleTimeoutMs: 0,
    clientCertificates: new ClientCertificates(),
    ageMsMax: 0,
    maxUpstreamHttp2Streams: 1,
    maxUpstreamHttp2Connections: 1,
    egress: new Egress(
      { allow: [], deny: [], unixSocketsFrom: [] },
      new OwnListeners(createOwnPorts(), systemClock),
    ),
    lookup: createLookup({
      resolve: (host) => lookup(host, { all: true }),
      monotonicMs: () => systemClock.monotonicMs(),
      onFailure: () => undefined,
    }),
  });
  const registry = new HealthRegistry(state, systemClock, log);
  const prober = new HealthProbe({ state, clock: systemClock, registry, pool });
  prober.start();
  stops.push(() => prober.stop());
  return { state, breakers, registry, trees, prober };
}

describe('HealthProbe', { timeout: 30_000 }, () => {
  it('probes every revision even if none of very many answers, with a bounded number at once', async () => {
    const silent = await startBackend(() => undefined);
    stops.push(() => silent.close());
    const count = 2 * PROBES_MAX + 50;
    const { breakers, registry } = start(silent.port, count, {
      interval_ms: 100,
      timeout_ms: 400,
      unhealthy_threshold: 1,
    });
    const checks = new Map<BreakerMemory, number>();
    const noteProbe = registry.noteProbe.bind(registry);
    registry.noteProbe = (memory, result) => {
      checks.set(memory, (checks.get(memory) ?? 0) + 1);
      noteProbe(memory, result);
    };
    await until(() => checks.size === count);
    // No revision is probed again before all others were.
    expect(Math.max(...checks.values())).toBeLessThanOrEqual(2);
    await until(() => [...breakers.values()].every((breaker) => breaker.status.state === 'open'));
    // A probe that timed out may still be open at the backend when the next one arrives.
    expect(silent.most()).toBeLessThanOrEqual(PROBES_MAX * 1.5);
  });

  it('continues with other apps while the checks of one app do not end', async () => {
    const silent = await startBackend(() => undefined);
    const quick = await startBackend((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    stops.push(
      () => silent.close(),
      () => quick.close(),
    );
    start(silent.port, 2 * PROBES_MAX, { interval_ms: 100, timeout_ms: 60_000 }, quick.port);
    await until(() => silent.most() >= PROBES_MAX * 0.8);
    const before = quick.paths.get('/other') ?? 0;
    await until(() => (quick.paths.get('/other') ?? 0) >= before + 5, 10_000);
    expect(silent.most()).toBeLessThan(PROBES_MAX);
  });

  it(
    'spreads checks over their interval instead of making all of them at once',
    steadily(async () => {
      const quick = await startBackend((socket) =>
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
      );
      stops.push(() => quick.close());
      const { breakers } = start(quick.port, 300, { interval_ms: 1_500 });
      await until(() => quick.paths.size > 0, 15_000, 2);
      const firstMs = performance.now();
      await until(() => quick.paths.size > 30, 15_000, 2);
      expect(quick.paths.size).toBeLessThan(270);
      await until(() => quick.paths.size >= 270, 15_000, 2);
      expect(performance.now() - firstMs).toBeGreaterThan(500);
      await until(() => quick.paths.size === 300);
      for (const breaker of breakers.values()) expect(breaker.isPristine).toBe(true);
    }),
  );

  it('probes only while a breaker is not closed if there is no interval', async () => {
    const quick = await startBackend((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    stops.push(() => quick.close());
    const { breakers, registry, trees } = start(quick.port, 3, undefined);
    const breaker = breakers.get('r1');
    if (breaker === undefined) throw new Error('there is a breaker');
    const rules = { failures: 1, open_secs: 3_600, count_5xx: false, recovery_secs: 0 };
    breaker.onOutcome('failure', undefined, rules, systemClock.nowMs());
    await until(() => breaker.status.state === 'closed');
    expect([...quick.paths]).toEqual([['/r1', 1]]);
    const health = registry.healthOf(trees[1]!.revision);
    expect(health.last_probe).toMatchObject({ ok: true, status: 204 });
    expect(health.history).toMatchObject([{ from: 'open', to: 'closed', event: 'probe_healthy' }]);
  });

  it('does not count a check that began before the breaker changed state', async () => {
    const held: net.Socket[] = [];
    const slow = await startBackend((socket) => void held.push(socket));
    stops.push(() => slow.close());
    const { breakers } = start(slow.port, 1, { interval_ms: 100, timeout_ms: 20_000 });
    const breaker = breakers.get('r0');
    if (breaker === undefined) throw new Error('there is a breaker');
    await until(() => held.length === 1);
    const rules = { failures: 1, open_secs: 3_600, count_5xx: false, recovery_secs: 0 };
    breaker.onOutcome('failure', undefined, rules, systemClock.nowMs());
    held[0]?.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await until(() => held.length === 2);
    expect(breaker.status.state).toBe('open');
    held[1]?.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    await until(() => breaker.status.state === 'closed');
  });
});
