/**
 * Two gateways on one Postgres record events by writes while the receiver of a webhook is away for a time and the
 * gateway that sends is killed again and again. What arrived is compared with what was written: each event, in order,
 * twice only with the same id. A second webhook whose receiver never answers must hold up nothing.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { startWebhookReceiver, type Delivery } from '../support/backends/webhook-receiver.ts';
import type { TestGateway } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import { startNode, startNodesRig } from '../support/nodes.ts';

export interface WebhookScenario {
  readonly events: number;
  readonly downMs: number;
  readonly kills: number;
  /** Writes under way at each gateway. */
  readonly writers: number;
}

export interface WebhookFigures {
  readonly written: number;
  /** Config versions whose event did not arrive. */
  readonly missing: readonly number[];
  readonly requests: number;
  readonly duplicates: number;
  /** Events that came for the first time after one with a greater id. */
  readonly outOfOrder: number;
  readonly ids: number;
  readonly kills: number;
  /** Of each kill. */
  readonly takeovers: readonly Takeover[];
  readonly writeMs: { readonly p50: number; readonly p99: number };
  readonly drainMs: number;
}

export interface Takeover {
  /** What the receiver answered when the gateway was killed. */
  readonly receiver: 'well' | 'away';
  /** From the kill to the next request that came, whatever it was answered. */
  readonly requestMs: number;
  /** From the kill to the next event that arrived. */
  readonly eventMs: number;
}

const ENV = {
  GATEWAY_WORKERS: '1',
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '2000',
  GATEWAY_CLUSTER__HEARTBEAT_MS: '300',
  GATEWAY_WEBHOOKS__RETRY_MIN_MS: '50',
  GATEWAY_WEBHOOKS__RETRY_MAX_MS: '500',
  GATEWAY_WEBHOOKS__MAX_TRIES: '1000',
  GATEWAY_WEBHOOKS__TIMEOUT_MS: '2000',
};

/** The part of the writes at which the receiver goes away. */
const AWAY_FROM = 0.375;
/** What a killed gateway had sent is read by then. */
const IN_FLIGHT_MS = 5;

export async function runWebhookScenario(scenario: WebhookScenario): Promise<WebhookFigures> {
  const rig = await startNodesRig();
  const url = await rig.server.createDatabase();
  const node = (name: string): Promise<TestGateway> => startNode({ url, folder: rig.folder, name, env: ENV });
  let isDown = false;
  const requestsMs: number[] = [];
  const arrivals: { readonly delivery: Delivery; readonly atMs: number }[] = [];
  const receiver = await startWebhookReceiver((delivery) => {
    const atMs = performance.now();
    requestsMs.push(atMs);
    if (isDown) return 503;
    arrivals.push({ delivery, atMs });
    return undefined;
  });
  const dead = await startWebhookReceiver(() => 'never');
  // One first, so that only one migrates.
  const nodes = new Map([['a', await node('a')]]);
  nodes.set('b', await node('b'));
  const one = (name: string): TestGateway => nodes.get(name) as TestGateway;
  try {
    const app = await one('a').must('POST', '/apps', { name: 'x', slug: 'x', gateway_path: '/x' });
    const hooks = [receiver, dead].map(({ port }, index) => ({
      name: `h${index}`,
      url: `http://127.0.0.1:${port}/`,
      events: ['config.changed'],
    }));
    for (const hook of hooks) await one('a').must('POST', '/webhooks', hook);
    const first = (await one('a').must('GET', '/config/versions?limit=1'))[0].config_version + 1;
    const writes = new Writes(one, app.id, scenario.events);
    const writing = Promise.all(['a', 'b'].flatMap((name) => writes.run(name, scenario.writers)));
    const seen: Seen = { done: () => writes.done, isDown: () => isDown, requestsMs, arrivals };
    const kills = killSenders(nodes, node, scenario, seen);
    await until(() => writes.done > scenario.events * AWAY_FROM, 600_000);
    isDown = true;
    await pause(scenario.downMs);
    isDown = false;
    await writing;
    const takeovers = await kills;
    const startMs = performance.now();
    const last = (await one('a').must('GET', '/config/versions?limit=1'))[0].config_version;
    const versionOf = (delivery: Delivery): number => Number(delivery.event.data['config_version']);
    await until(() => arrivals.some(({ delivery }) => versionOf(delivery) === last), 300_000);
    const firsts = new Map<string, number>();
    for (const { delivery } of arrivals)
      if (!firsts.has(delivery.id)) firsts.set(delivery.id, versionOf(delivery));
    const order = [...firsts.values()];
    const known = new Set(order);
    const versions = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    return {
      written: versions.length,
      missing: versions.filter((version) => !known.has(version)),
      requests: receiver.all.length,
      duplicates: arrivals.length - firsts.size,
      outOfOrder: order.filter((version, index) => version < (order[index - 1] ?? 0)).length,
      ids: firsts.size,
      kills: scenario.kills,
      takeovers,
      writeMs: writes.percentiles(),
      drainMs: Math.round(performance.now() - startMs),
    };
  } finally {
    await Promise.all([...nodes.values()].map((each) => each.stop()));
    await Promise.all([receiver.close(), dead.close()]);
    await rig.close();
  }
}

/** Changes of one record, each of which is a config version and so an event. */
class Writes {
  done = 0;
  readonly #one: (name: string) => TestGateway;
  readonly #appId: string;
  readonly #total: number;
  readonly #tookMs: number[] = [];

  constructor(one: (name: string) => TestGateway, appId: string, total: number) {
    this.#one = one;
    this.#appId = appId;
    this.#total = total;
  }

  run(name: string, writers: number): Promise<void>[] {
    return Array.from({ length: writers }, async () => {
      while (this.done < this.#total) {
        const startMs = performance.now();
        const description = `${name} ${this.done} ${startMs}`;
        // One whose gateway is killed may have happened or not.
        const answer = await this.#one(name)
          .api('PATCH', `/apps/${this.#appId}`, { description })
          .catch(() => undefined);
        if (answer?.status === 200) {
          this.done += 1;
          this.#tookMs.push(performance.now() - startMs);
        } else await pause(50);
      }
    });
  }

  percentiles(): WebhookFigures['writeMs'] {
    const sorted = this.#tookMs.toSorted((x, y) => x - y);
    const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0);
    return { p50: at(0.5), p99: at(0.99) };
  }
}

interface Seen {
  readonly done: () => number;
  readonly isDown: () => boolean;
  readonly requestsMs: readonly number[];
  readonly arrivals: readonly { readonly atMs: number }[];
}

/**
 * Kills the gateway that sends for the first webhook, and starts it again; at even parts of the writes. The last of
 * several kills comes when the receiver is back and what waited is sent.
 */
async function killSenders(
  nodes: Map<string, TestGateway>,
  start: (name: string) => Promise<TestGateway>,
  { kills, events }: WebhookScenario,
  { done, isDown, requestsMs, arrivals }: Seen,
): Promise<Takeover[]> {
  const takeovers: Takeover[] = [];
  let wasDown = false;
  for (let kill = 1; kill <= kills; kill += 1) {
    const isLast = kill === kills && kills > 1;
    await until(() => {
      wasDown ||= isDown();
      return done() >= (events * kill) / (kills + 1) && (!isLast || (wasDown && !isDown()));
    }, 600_000);
    const sender = await until(async () => {
      const [name] = nodes.keys();
      const states = await nodes.get(name ?? '')?.must('GET', '/webhook-deliveries');
      return (states?.[0]?.sender as string | null) ?? undefined;
    }, 60_000);
    await nodes.get(sender)?.kill();
    const killedMs = performance.now();
    const receiver = isDown() ? 'away' : 'well';
    const since = killedMs + IN_FLIGHT_MS;
    nodes.set(sender, await start(sender));
    const nextRequestMs = await until(() => requestsMs.find((atMs) => atMs > since), 120_000);
    const nextEvent = await until(() => arrivals.find(({ atMs }) => atMs > since), 120_000);
    takeovers.push({
      receiver,
      requestMs: Math.round(nextRequestMs - killedMs),
      eventMs: Math.round(nextEvent.atMs - killedMs),
    });
  }
  return takeovers;
}
