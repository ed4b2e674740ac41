/** The scenario of slow clients, at any size: rounds of calm and attack, and what came of them. */
import { startOrigin } from '../support/backends/origin.ts';
import { startGateway } from '../support/gateway.ts';
import { watchMemory } from '../support/measure/process-memory.ts';
import { answerTimesMs, heldConnections, SlowClients } from '../support/clients/slow-clients.ts';
import type { End } from '../support/clients/slow-client-process.ts';
import { createService } from '../support/traffic.ts';
import { quantile } from '../support/measure/stats.ts';

export interface Scenario {
  readonly heads: number;
  readonly bodies: number;
  readonly deaf: number;
  readonly headTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Of the policy under which half of the bodies drip to their end. */
  readonly totalMs: number;
  readonly dripEveryMs: number;
  /** For which traffic is measured each time, and how many times one after the other, in calm and in attack. */
  readonly measureMs: number;
  readonly measurements: number;
  readonly rounds: number;
}

export interface Outcome {
  /** One of each per measurement. */
  readonly calmP99Ms: readonly number[];
  readonly attackP99Ms: readonly number[];
  readonly attackMedianMs: readonly number[];
  /** Connections that stood when an attack was measured, the fewest of all rounds. */
  readonly heldAtLeast: number;
  /** Of all slow clients of all rounds. */
  readonly ends: readonly End[];
  /** From the moment at which bodies stop and until no slow connection was held any more, per round. */
  readonly goneMs: readonly number[];
  readonly memoryGrowthBytes: number;
}

/** The gateway lingers for two seconds behind an answer; the rest is for a slow machine. */
export const GONE_SLACK_MS = 8_000;

/** Bodies that end at their deadline are counted as failures; no breaker shall open for them. */
const BREAKER_FAILURES_MAX = 10_000;
/** Between two looks at all connections. */
const LOOK_MS = 200;
/** Until the buffers of those that do not read are full. */
const SETTLE_MS = 1_000;

export async function slowClientScenario(scenario: Scenario): Promise<Outcome> {
  const clients = await SlowClients.start();
  const backend = await startOrigin((_request, response) => response.end('ok'));
  const gateway = await startGateway({
    env: {
      GATEWAY_PROXY__HEAD_TIMEOUT_MS: String(scenario.headTimeoutMs),
      GATEWAY_PROXY__IDLE_TIMEOUT_MS: String(scenario.idleTimeoutMs),
    },
  });
  try {
    await createService(gateway, 'slow', clients.backendPort);
    await createService(gateway, 'timed', clients.backendPort, {
      app: { default_policy: { timeouts: { total_ms: scenario.totalMs } } },
      revision: { circuit_breaker: { failures: BREAKER_FAILURES_MAX } },
    });
    await createService(gateway, 'other', backend.port);
    const port = gateway.proxyPort;
    const measure = (): Promise<number[]> => answerTimesMs(port, '/other/v1/x', scenario.measureMs);
    await measure();
    const outcome = {
      calmP99Ms: [] as number[],
      attackP99Ms: [] as number[],
      attackMedianMs: [] as number[],
      ends: [] as End[],
      goneMs: [] as number[],
      heldAtLeast: Infinity,
    };
    const use = await watchMemory(gateway.process.pid ?? 0, async () => {
      for (let round = 0; round < scenario.rounds; round++) {
        for (let times = 0; times < scenario.measurements; times++) {
          outcome.calmP99Ms.push(quantile(await measure(), 0.99));
        }
        const queues = watchQueues(port);
        const deafPorts = await clients.open({ port, ...scenario });
        await new Promise((done) => setTimeout(done, SETTLE_MS));
        queues.rest();
        for (let times = 0; times < scenario.measurements; times++) {
          const timesMs = await measure();
          outcome.attackP99Ms.push(quantile(timesMs, 0.99));
          outcome.attackMedianMs.push(quantile(timesMs, 0.5));
          // Of a peer that takes nothing the system asks again, ever less often, and may find room for some more.
          queues.look();
        }
        const deaf = deafPorts.map((one) => [one, queues.of(one)] as const);
        outcome.heldAtLeast = Math.min(outcome.heldAtLeast, heldConnections(port).size);
        clients.stopBodies();
        const gone = await untilGone(port, scenario, deaf);
        outcome.goneMs.push(gone.afterMs);
        outcome.ends.push(...(await clients.ends()), ...gone.deaf);
      }
    });
    return { ...outcome, memoryGrowthBytes: use.peakBytes - use.beforeBytes };
  } finally {
    await gateway.stop();
    await backend.close();
    clients.close();
  }
}

/** When a connection came, at the earliest, and when something of what waits to be sent on it moved last. */
interface Queue {
  readonly beganMs: number;
  readonly movedMs: number;
}

interface Queues {
  /** Looks once; a look takes time of all. */
  readonly look: () => void;
  /** From then on only when it is told to. */
  readonly rest: () => void;
  readonly of: (clientPort: number) => Queue;
}

/** Looks now and then at what waits to be sent on each connection. */
function watchQueues(port: number): Queues {
  const queues = new Map<number, Queue & { readonly bytes: number }>();
  let lookedMs = performance.now();
  const look = (): void => {
    const nowMs = performance.now();
    for (const [client, bytes] of heldConnections(port)) {
      const before = queues.get(client);
      if (before?.bytes === bytes) continue;
      queues.set(client, { beganMs: before?.beganMs ?? lookedMs, movedMs: nowMs, bytes });
    }
    lookedMs = nowMs;
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    look,
    rest: () => clearInterval(timer),
    of: (client) => queues.get(client) ?? { beganMs: Infinity, movedMs: Infinity },
  };
}

/**
 * Waits until no connection is held any more, but not much longer than that may take; meanwhile the deaf are watched.
 */
async function untilGone(
  port: number,
  { headTimeoutMs, idleTimeoutMs, totalMs }: Scenario,
  deaf: readonly (readonly [port: number, queue: Queue])[],
): Promise<{ readonly afterMs: number; readonly deaf: End[] }> {
  const startMs = performance.now();
  const latestMs = startMs + Math.max(headTimeoutMs, idleTimeoutMs, totalMs) + GONE_SLACK_MS;
  const endedMs = new Map<number, number>();
  for (;;) {
    const held = heldConnections(port);
    const nowMs = performance.now();
    for (const [client] of deaf) {
      if (!held.has(client) && !endedMs.has(client)) endedMs.set(client, nowMs);
    }
    if (held.size > 0 && nowMs < latestMs) {
      await new Promise((done) => setTimeout(done, LOOK_MS));
      continue;
    }
    return {
      afterMs: held.size > 0 ? Infinity : nowMs - startMs,
      deaf: deaf.map(([client, { beganMs, movedMs }]) => {
        const atMs = endedMs.get(client) ?? Infinity;
        return { kind: 'deaf', status: '', heldMs: atMs - movedMs, heldMsMax: atMs - beganMs };
      }),
    };
  }
}

/** Ends that did not come at their deadline, or with another answer than that, as text. */
export function wrongEnds(
  ends: readonly End[],
  { headTimeoutMs, idleTimeoutMs, totalMs }: Scenario,
  slackMs: number,
): string[] {
  const due: Readonly<Record<End['kind'], readonly [status: string, atMs: number]>> = {
    head: ['408', headTimeoutMs],
    body: ['408', idleTimeoutMs],
    'endless body': ['504', totalMs],
    deaf: ['', idleTimeoutMs],
  };
  return ends
    .filter(({ kind, status, heldMs, heldMsMax = heldMs }) => {
      const [dueStatus, dueMs] = due[kind];
      // A sweep's length earlier than due by the coarse clock.
      return status !== dueStatus || !(heldMsMax >= dueMs - 150 && heldMs <= dueMs + slackMs);
    })
    .map(({ kind, status, heldMs }) => `${kind}: status "${status}" after ${Math.round(heldMs)} ms`);
}
