/** The scenario of slow clients, at any size: rounds of calm and attack, and what came of them. */
import { startOrigin } from './origin.ts';
import { startGateway } from './gateway.ts';
import { watchMemory } from './process-memory.ts';
import { answerTimesMs, heldConnections, percentile, SlowClients } from './slow-clients.ts';
import type { End } from './slow-client-process.ts';
import { createService } from './traffic.ts';

export interface Scenario {
  readonly heads: number;
  readonly bodies: number;
  readonly deaf: number;
  readonly headTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly dripEveryMs: number;
  /** For which traffic is measured in calm and in attack. */
  readonly measureMs: number;
  readonly rounds: number;
}

export interface Outcome {
  /** One of each per round. */
  readonly calmP99Ms: readonly number[];
  readonly attackP99Ms: readonly number[];
  readonly attackMedianMs: readonly number[];
  /** Connections that stood when an attack was measured, the fewest of all rounds. */
  readonly heldAtLeast: number;
  /** Of dripping heads and bodies of all rounds. */
  readonly ends: readonly End[];
  /** From the moment at which bodies stop and until no slow connection was held any more, per round. */
  readonly goneMs: readonly number[];
  readonly memoryGrowthBytes: number;
}

/** The gateway lingers for two seconds behind an answer; the rest is for a slow machine. */
export const GONE_SLACK_MS = 8_000;

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
        outcome.calmP99Ms.push(percentile(await measure(), 0.99));
        await clients.open({ port, ...scenario });
        await new Promise((done) => setTimeout(done, SETTLE_MS));
        const timesMs = await measure();
        outcome.attackP99Ms.push(percentile(timesMs, 0.99));
        outcome.attackMedianMs.push(percentile(timesMs, 0.5));
        outcome.heldAtLeast = Math.min(outcome.heldAtLeast, heldConnections(port));
        clients.stopBodies();
        outcome.goneMs.push(await untilGone(port, scenario));
        outcome.ends.push(...(await clients.ends()));
      }
    });
    return { ...outcome, memoryGrowthBytes: use.peakBytes - use.beforeBytes };
  } finally {
    await gateway.stop();
    await backend.close();
    clients.close();
  }
}

/** Waits until no connection is held any more, but not much longer than that may take. */
async function untilGone(port: number, { headTimeoutMs, idleTimeoutMs }: Scenario): Promise<number> {
  const startMs = performance.now();
  const latestMs = startMs + Math.max(headTimeoutMs, idleTimeoutMs) + GONE_SLACK_MS;
  while (heldConnections(port) > 0 && performance.now() < latestMs) {
    await new Promise((done) => setTimeout(done, 200));
  }
  return heldConnections(port) > 0 ? Infinity : performance.now() - startMs;
}

/** Ends that did not come at their deadline, or not with 408, as text. */
export function wrongEnds(
  ends: readonly End[],
  { headTimeoutMs, idleTimeoutMs }: Scenario,
  slackMs: number,
): string[] {
  return ends
    .filter(({ kind, status, heldMs }) => {
      const dueMs = kind === 'head' ? headTimeoutMs : idleTimeoutMs;
      // A sweep's length earlier than due by the coarse clock.
      return status !== '408' || heldMs < dueMs - 150 || heldMs > dueMs + slackMs;
    })
    .map(({ kind, status, heldMs }) => `${kind}: status "${status}" after ${Math.round(heldMs)} ms`);
}
