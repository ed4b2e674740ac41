/**
 * The only file that knows the client library: a connection to one server, to all servers of a cluster, or to the
 * primary behind Sentinels, reduced to the few functions that redis-server.ts needs.
 *
 * Nothing is queued without a connection, and connecting continues until it succeeds or `destroy` is called. The
 * library sends the commands of one loop tick in one write.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, createCluster, createSentinel } from '@redis/client';
import { messageOf } from '../../../lib/error-message.ts';
import { parseRedisUrl, type RedisTarget } from '../../../model/redis-url.ts';
import { RubbishAnswer } from './answer-bounds.ts';
import { guardDecoders } from './guarded-decoder.ts';

export interface ConnectOptions {
  /** In one of the formats of model/redis-url.ts. */
  readonly url: string;
  readonly connectTimeoutMs: number;
}

export interface Commander {
  /** `key` selects the server of a cluster. Rejects when the command fails, and at once without a connection. */
  send(key: string, args: string[]): Promise<unknown>;
  /** The same command to each server that has counters: all primaries of a cluster, else one. */
  sendToAll(args: string[]): Promise<readonly unknown[]>;
  /** Resolves once connected; does not reject before `destroy`. */
  connect(): Promise<void>;
  isReady(): boolean;
  /** The last connection failure; '' when there was none. Contains texts of servers and of TLS, but no credentials. */
  lastFailure(): string;
  /** Closes all connections; commands without an answer reject. */
  destroy(): void;
}

/** Limit of the time between attempts to connect. */
const RECONNECT_MS_MAX = 250;
/** Limit of commands under way on one connection; more fail at once. */
const COMMANDS_MAX = 10_000;
/** Number of connections to the primary behind Sentinels, where a connection runs one command at a time. */
const PRIMARY_CONNECTIONS = 8;

/** @throws Error when the URL has none of the formats; the settings have already checked it */
export function createCommander({ url, connectTimeoutMs }: ConnectOptions): Commander {
  const target = parseRedisUrl(url);
  if (target === undefined) throw new Error('The URL of the limit store has none of the known formats');
  guardDecoders();
  const common = commonOptions(target, connectTimeoutMs);
  if (target.kind === 'cluster') return clusterCommander(target, common);
  return target.kind === 'sentinel' ? sentinelCommander(target, common) : singleCommander(target, common);
}

function commonOptions({ tls, username, password }: RedisTarget, connectTimeout: number) {
  const reconnectStrategy = (retries: number): number =>
    Math.min(25 * 2 ** Math.min(retries, 8), RECONNECT_MS_MAX);
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    RESP: 2 as const,
    disableOfflineQueue: true,
    commandsQueueMaxLength: COMMANDS_MAX,
    socket: { connectTimeout, reconnectStrategy, ...(tls && { tls: true as const }) },
  };
}
type CommonOptions = ReturnType<typeof commonOptions>;

/** Records connection errors, which are reported only here; other errors reject the calls that they end. */
class Failures {
  #last = '';

  readonly note = (error: unknown): void => {
    // With a cluster or Sentinels each host fails separately; one error is enough.
    const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
    this.#last = messageOf(first);
  };
  readonly last = (): string => this.#last;
}

function singleCommander({ hosts, database }: RedisTarget, common: CommonOptions): Commander {
  const client = createClient({ ...common, socket: { ...common.socket, ...hosts[0]! }, database });
  const failures = new Failures();
  client.on('error', (error: unknown) => {
    failures.note(error);
    // The caller makes another client, and not at once.
    if (error instanceof RubbishAnswer && client.isOpen) client.destroy();
  });
  return {
    lastFailure: failures.last,
    send: (_key, args) => client.sendCommand(args),
    sendToAll: async (args) => [await client.sendCommand(args)],
    connect: async () => void (await client.connect()),
    isReady: () => client.isReady,
    destroy: () => {
      // The library forgets a connection attempt under way, and would keep what comes of it.
      client.on('connect', () => client.destroy());
      if (client.isOpen) client.destroy();
    },
  };
}

function clusterCommander({ hosts }: RedisTarget, common: CommonOptions): Commander {
  const cluster = createCluster({
    rootNodes: hosts.map((host) => ({ socket: { ...common.socket, ...host } })),
    defaults: common,
    RESP: 2,
  });
  const failures = new Failures();
  cluster.on('error', failures.note);
  return {
    lastFailure: failures.last,
    send: (key, args) =>
      cluster.sendCommand(key, false, args).catch((error: unknown) => {
        // The library knows no server for the slot, and would not look again: any server knows more by now.
        if (error instanceof TypeError && cluster.slots.includes(undefined!))
          return cluster.sendCommand(undefined, false, args);
        throw withoutServer(error);
      }),
    sendToAll: (args) =>
      Promise.all(
        cluster.masters.map(async (server) => (await cluster.nodeClient(server)).sendCommand(args)),
      ),
    ...persistent(
      () => cluster.connect(),
      () => void cluster.destroy(),
      failures,
    ),
  };
}

/** A key whose slot is on its way to a server without slots is refused as by a server, since others are answered. */
function withoutServer(error: unknown): unknown {
  const address = /^Cannot find node (\S+)$/.exec(messageOf(error))?.[1];
  return address === undefined ? error : new Error(`ASK ${address}, which has no slot yet`, { cause: error });
}

function sentinelCommander({ hosts, primaryName }: RedisTarget, common: CommonOptions): Commander {
  const { socket, RESP, ...login } = common;
  const sentinel = createSentinel({
    name: primaryName,
    sentinelRootNodes: hosts.map(({ host, port }) => ({ host, port })),
    nodeClientOptions: { ...login, socket },
    // Sentinels have separate logins, if any; TLS is for all or for none.
    sentinelClientOptions: { socket },
    masterPoolSize: PRIMARY_CONNECTIONS,
    RESP,
  });
  const failures = new Failures();
  sentinel.on('error', failures.note);
  return {
    lastFailure: failures.last,
    send: (_key, args) => sentinel.sendCommand(false, args),
    sendToAll: async (args) => [await sentinel.sendCommand(false, args)],
    ...persistent(
      () => sentinel.connect(),
      () => void sentinel.destroy().catch(failures.note),
      failures,
    ),
  };
}

/** Clients that do not retry by themselves when the first connection fails. */
function persistent(
  connect: () => Promise<unknown>,
  destroy: () => void,
  failures: Failures,
): Pick<Commander, 'connect' | 'isReady' | 'destroy'> {
  let state: 'connecting' | 'ready' | 'destroyed' = 'connecting';
  const isDestroyed = (): boolean => state === 'destroyed';
  return {
    connect: async () => {
      while (!isDestroyed()) {
        const connected = await connect().then(
          () => true,
          (error: unknown) => void failures.note(error),
        );
        if (isDestroyed()) return destroy();
        if (connected) return void (state = 'ready');
        await pause(RECONNECT_MS_MAX);
      }
    },
    isReady: () => state === 'ready',
    destroy: () => {
      const was = state;
      state = 'destroyed';
      if (was === 'ready') destroy();
    },
  };
}
