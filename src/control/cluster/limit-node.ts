/**
 * Membership in the group of nodes that share limits: sends a heartbeat to the shared store once a second, and tells
 * the threads of this node how many nodes are alive. Runs on the main thread with its own connection. Owns the node's
 * id, which is random at every start.
 *
 * While the store is unreachable, the last count stays. After an outage no heartbeat is fresh, and a store that lost
 * its data knows no nodes, so a smaller count is accepted only after all nodes have had time to return.
 *
 * A node that starts while the store is unreachable has no last count. It uses the number of gateways on its database
 * (control/cluster/cluster.ts) or the setting, whichever is larger.
 */
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/error-message.ts';
import { randomHex } from '../../lib/ids.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import {
  type ListedNodes,
  type LiveNodes,
  type LiveNodesMemory,
  writeLiveNodes,
} from '../../limits/shared/live-nodes.ts';
import type { StoreMemory } from '../../limits/shared/redis/store-memory.ts';
import { isOutOfMemory, isReply } from '../../limits/shared/redis/store-refusals.ts';
import type { Settings } from '../../settings/settings.ts';

const BEAT_MS = 1_000;
/** A node without a heartbeat for this long does not count. */
const NODE_TTL_MS = 5_000;
/** Timeout of a heartbeat. */
const SILENCE_MS_MAX = 2_000;
const START_WAIT_MS = 1_000;
/** A heartbeat's interval, with an allowance for late timers. */
const RECONNECT_MS_MIN = 900;
const NODE_ID_BYTES = 8;
/** How often the store is asked for its memory. */
const MEMORY_MS = 5_000;
/** The same if this user may not ask: a server records each refusal (ACL LOG). */
const REFUSED_MEMORY_MS = 600_000;
const NO_PERMISSION = 'NOPERM';

/** The part of redis-server.ts that is needed here. */
export interface HeartbeatServer {
  connect(timeoutMs: number): Promise<boolean>;
  heartbeat(nodeId: string, ttlMs: number, leave: boolean): Promise<ListedNodes>;
  /** undefined or a rejection: unknown. */
  memory(): Promise<StoreMemory | undefined>;
  reconnect(): void;
  close(): void;
}

export class LimitNode {
  readonly #server: HeartbeatServer;
  readonly #memory: LiveNodesMemory;
  readonly #clock: Clock;
  readonly #id = randomHex(NODE_ID_BYTES);
  readonly #assumed: number;
  #nodes: LiveNodes;
  /** True once the store has reported the nodes. */
  #isTold = false;
  /** The time since which the database has reported fewer gateways than the current count. */
  #fewerSinceMs: number | undefined;
  #answeredMs = -Infinity;
  /** The same by the wall clock; before the first answer, when this node began to ask. */
  #answeredAtMs: number;
  #latencyMs: number | undefined;
  /** The time since which the store has answered without a failure and without losing data. */
  #steadySinceMs = 0;
  #reconnectedMs: number;
  #timer: NodeJS.Timeout | undefined;
  #beating = false;
  /** Why the last heartbeat failed; '' when it did not, or got no answer yet. */
  #failure = '';
  #memoryOfStore: StoreMemory | undefined;
  #askForMemoryAtMs = -Infinity;

  /** @param assumed number of nodes until the store reports it */
  constructor(server: HeartbeatServer, memory: LiveNodesMemory, clock: Clock, assumed: number) {
    this.#server = server;
    this.#memory = memory;
    this.#clock = clock;
    this.#assumed = assumed;
    this.#nodes = { count: assumed, rank: 0 };
    this.#reconnectedMs = clock.monotonicMs();
    this.#answeredAtMs = clock.nowMs();
    writeLiveNodes(memory, this.#nodes);
  }

  /** Resolves after the first heartbeat, or if the store does not answer for a while. */
  async start(): Promise<void> {
    if (await this.#server.connect(START_WAIT_MS)) await this.#beat();
    this.#timer = setInterval(() => void this.#beat(), BEAT_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    if (this.isConnected) await this.#heartbeat(BEAT_MS, true);
    this.#server.close();
  }

  /**
   * The number of gateways on this node's database, used until the store reports the nodes. After an outage of the
   * database they return one by one, so a smaller number is accepted only if it lasts.
   */
  assume({ count, rank }: LiveNodes): void {
    if (this.#isTold) return;
    const nodes = { count: Math.max(count, this.#assumed), rank };
    const nowMs = this.#clock.monotonicMs();
    if (nodes.count >= this.#nodes.count) this.#fewerSinceMs = undefined;
    else if (nowMs - (this.#fewerSinceMs ??= nowMs) < NODE_TTL_MS) return;
    this.#set(nodes);
  }

  get isConnected(): boolean {
    return this.#clock.monotonicMs() - this.#answeredMs < 2 * BEAT_MS;
  }

  get nodes(): LiveNodes {
    return this.#nodes;
  }

  /** How long the last answer of the store took; undefined when there was none. */
  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  /** undefined while it is unknown. */
  get memoryOfStore(): StoreMemory | undefined {
    return this.#memoryOfStore;
  }

  /** For people; undefined while the store answers heartbeats. */
  get problem(): string | undefined {
    if (this.isConnected) return undefined;
    return `The limit store ${this.#state}; on_store_failure applies, with this node as one of ${this.#nodes.count}`;
  }

  /** Unix milliseconds; undefined while the store answers heartbeats. */
  get problemSinceMs(): number | undefined {
    return this.isConnected ? undefined : this.#answeredAtMs;
  }

  get #state(): string {
    if (this.#isFull) return 'is full, and refuses all calls';
    return isReply(this.#failure) ? 'answers, but refuses calls' : 'is unreachable';
  }

  get #isFull(): boolean {
    return isOutOfMemory(this.#failure);
  }

  /** With the last error, which may name a host; undefined while the store is reachable. */
  get problemWithCause(): string | undefined {
    const { problem } = this;
    return problem === undefined || this.#failure === '' || this.#isFull
      ? problem
      : `${problem}: ${this.#failure}`;
  }

  async #beat(): Promise<void> {
    if (this.#beating) return;
    this.#beating = true;
    const startMs = this.#clock.monotonicMs();
    const nodes = await this.#heartbeat(SILENCE_MS_MAX, false);
    this.#beating = false;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#askForMemoryAtMs) void this.#askForMemory(nowMs);
    if (nodes === undefined) {
      if (!this.#isFull) this.#replaceSilentConnection(nowMs);
      return;
    }
    if (!this.isConnected || !nodes.wasListed) this.#steadySinceMs = nowMs;
    this.#answeredMs = nowMs;
    this.#answeredAtMs = this.#clock.nowMs();
    this.#latencyMs = nowMs - startMs;
    if (nodes.count < this.#nodes.count && nowMs - this.#steadySinceMs < NODE_TTL_MS) return;
    this.#isTold = true;
    this.#set(nodes);
  }

  /** Also of a store that refuses heartbeats, which it does when it is full. */
  async #askForMemory(nowMs: number): Promise<void> {
    this.#askForMemoryAtMs = nowMs + MEMORY_MS;
    const answer = this.#server.memory().catch((error: unknown) => {
      if (messageOf(error).startsWith(NO_PERMISSION)) this.#askForMemoryAtMs = nowMs + REFUSED_MEMORY_MS;
      return undefined;
    });
    this.#memoryOfStore = await withTimeout(SILENCE_MS_MAX, answer);
  }

  #set(nodes: LiveNodes): void {
    this.#nodes = nodes;
    writeLiveNodes(this.#memory, nodes);
  }

  /** undefined if it failed or timed out. */
  #heartbeat(waitMs: number, leave: boolean): Promise<ListedNodes | undefined> {
    const beat = this.#server.heartbeat(this.#id, NODE_TTL_MS, leave);
    return withTimeout(
      waitMs,
      beat.then(
        (nodes) => {
          this.#failure = '';
          return nodes;
        },
        (error: unknown) => {
          this.#failure = messageOf(error);
          return undefined;
        },
      ),
    );
  }

  /**
   * Also replaces a connection attempt of the client under way: it may wait for a server that is gone, while a new
   * attempt finds the current one.
   */
  #replaceSilentConnection(nowMs: number): void {
    if (nowMs - Math.max(this.#answeredMs, this.#reconnectedMs) < RECONNECT_MS_MIN) return;
    this.#reconnectedMs = nowMs;
    this.#server.reconnect();
  }
}

/** The live nodes of the store; undefined without a shared store. */
export async function startLimitNode(
  { limits }: Pick<Settings, 'limits'>,
  memory: LiveNodesMemory,
  clock: Clock,
): Promise<LimitNode | undefined> {
  const { redisUrl, keyPrefix, connectTimeoutMs } = limits;
  if (redisUrl === undefined) return undefined;
  const { RedisLimitServer } = await import('../../limits/shared/redis/redis-server.ts');
  const server = new RedisLimitServer({ url: redisUrl, keyPrefix, connectTimeoutMs });
  const node = new LimitNode(server, memory, clock, limits.nodes);
  await node.start();
  return node;
}
