/**
 * Workers that die one after the other under steady traffic, at any size, and what its clients saw of each death.
 * Which connections were the dead one's is not known; how many they were is, from its gauge.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { startAsking, type Asked } from '../support/clients/asking-clients.ts';
import { crashWorkers, LITTLE_MEMORY, type Mishap } from '../support/programs/crash-worker.ts';
import { INSPECTABLE } from '../support/programs/inspector.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startOrigin } from '../support/backends/origin.ts';
import { untilSettled } from '../support/measure/settled-threads.ts';
import { createService, requestText } from '../support/traffic.ts';
import { until } from '../support/measure/until.ts';

export interface DeathsScenario {
  readonly workers: number;
  readonly deaths: number;
  /** What they die of. */
  readonly mishap: Mishap;
  readonly connections: number;
  /** Of each client. */
  readonly requestEveryMs: number;
}

export interface Death {
  /** Connections that the worker held just before. */
  readonly held: number;
  /** Exchanges that were cut off. */
  readonly cut: number;
  /** Connections that were lost between two exchanges. */
  readonly lostAtRest: number;
  readonly refused: number;
  /** From the first loss to the last refusal, or 0: for so long the port was closed, at most. */
  readonly refusedMs: number;
  /** Answers that came and were not the right ones. */
  readonly wrong: number;
  /**
   * Until clients had four fifths of their usual answers again: from the first loss, or from when the gateway noticed
   * that the worker did not react any more, if that was before.
   */
  readonly recoveredMs: number;
}

const BETWEEN_DEATHS_MS = 1_000;
const WARM_UP_MS = 1_000;
/** Answers are counted in windows of this length. */
const WINDOW_MS = 100;
const RECOVERED = 0.8;
const RECOVERY_MS_MAX = 20_000;
const BODY = 'unharmed';

export async function workerDeaths(scenario: DeathsScenario): Promise<Death[]> {
  const { workers, deaths, mishap, connections, requestEveryMs } = scenario;
  // Slow enough that some exchanges are under way at every moment.
  const backend = await startOrigin((_request, response) => {
    setTimeout(() => response.end(BODY), requestEveryMs / 2);
  });
  const env = {
    GATEWAY_WORKERS: String(workers),
    GATEWAY_LOG__ACCESS: 'false',
    ...(mishap === 'out of memory' ? LITTLE_MEMORY : INSPECTABLE),
  };
  const gateway = await startGateway({ env });
  try {
    await createService(gateway, 'a', backend.port);
    await untilSettled(gateway, workers);
    const clients = startAsking({
      port: gateway.proxyPort,
      connections,
      everyMs: requestEveryMs,
      request: requestText('/a/v1/x'),
      body: BODY,
    });
    await pause(WARM_UP_MS);
    const warmMs = performance.now();
    const found: { readonly beganMs: number; readonly held: number }[] = [];
    for (let count = 0; count < deaths; count++) {
      const beganMs = performance.now();
      const [worker, held] = await oldestWorker(gateway, connections);
      await crashWorkers(gateway, (title) => title.endsWith(`proxy-${worker}`), mishap);
      found.push({ beganMs, held });
      await pause(Math.max(0, BETWEEN_DEATHS_MS - (performance.now() - beganMs)));
    }
    await pause(BETWEEN_DEATHS_MS);
    // What is asked for, or what came before the first death where the machine has no time for all of that.
    const came = clients.asked.filter(
      ({ endedMs }) => endedMs >= warmMs - WARM_UP_MS / 2 && endedMs < warmMs,
    );
    const usual = WINDOW_MS * Math.min(connections / requestEveryMs, came.length / (WARM_UP_MS / 2));
    const ends = [...found.slice(1).map(({ beganMs }) => beganMs), Infinity];
    const seen = (): Death[] =>
      found.map(({ beganMs, held }, index) =>
        deathSeen(clients.asked, beganMs, ends[index] ?? Infinity, held, usual, noticedMs(gateway)[index]),
      );
    // Until what there was before is there again, or will not come any more.
    await until(() => seen().every(({ recoveredMs }) => recoveredMs < Infinity), RECOVERY_MS_MAX, 100).catch(
      () => undefined,
    );
    await clients.stop();
    return seen();
  } finally {
    await gateway.stop();
    await backend.close();
  }
}

/** Number of the worker that serves for longest, and how many connections it has, once all clients have one. */
async function oldestWorker(
  gateway: TestGateway,
  connections: number,
): Promise<[worker: number, held: number]> {
  const gauge = /^headgate_downstream_connections\{worker="(\d+)"\} (\d+)$/gm;
  return until(async () => {
    const { body } = await gateway.api('GET', '//metrics');
    const workers = [...String(body).matchAll(gauge)].map(([, number, held]): [number, number] => [
      Number(number),
      Number(held),
    ]);
    if (workers.reduce((sum, [, held]) => sum + held, 0) < connections) return undefined;
    return workers.toSorted(([left], [right]) => left - right)[0];
  });
}

/** When it was noticed of each worker that it stood still; as of performance.now(). */
function noticedMs(gateway: TestGateway): number[] {
  const noticed = gateway.logs().filter(({ msg }) => msg === 'a proxy worker is stuck and is being stopped');
  return noticed.map(({ time }) => Date.parse(String(time)) - performance.timeOrigin);
}

function deathSeen(
  asked: readonly Asked[],
  beganMs: number,
  endMs: number,
  held: number,
  usual: number,
  noticedAtMs = Infinity,
): Death {
  const during = asked.filter(({ endedMs }) => endedMs >= beganMs && endedMs < endMs);
  const count = (...outcomes: string[]): number =>
    during.filter(({ outcome }) => outcomes.includes(outcome)).length;
  const cut = count('cut');
  const lostAtRest = count('closed at rest');
  const refused = count('refused');
  const wrong = during.length - count('200') - cut - lostAtRest - refused;
  const endsOf = (...outcomes: string[]): number[] =>
    during.filter(({ outcome }) => outcomes.includes(outcome)).map((each) => each.endedMs);
  const firstMs = Math.min(...endsOf('cut', 'closed at rest', 'refused'));
  const refusedMs = Math.max(0, ...endsOf('refused').map((endedMs) => endedMs - firstMs));
  const recoveredMs = recovery(asked, Math.min(firstMs, noticedAtMs), usual);
  return { held, cut, lostAtRest, refused, refusedMs, wrong, recoveredMs };
}

/** Windows slide by a tenth of their length. */
function recovery(asked: readonly Asked[], firstMs: number, usual: number): number {
  if (firstMs === Infinity) return 0;
  const goodMs = asked.filter(({ outcome }) => outcome === '200').map(({ endedMs }) => endedMs);
  for (let fromMs = firstMs; fromMs < firstMs + RECOVERY_MS_MAX; fromMs += WINDOW_MS / 10) {
    const answers = goodMs.filter((ms) => ms >= fromMs && ms < fromMs + WINDOW_MS).length;
    if (answers >= RECOVERED * usual) return fromMs - firstMs;
  }
  return Infinity;
}
