/**
 * Valkey or Redis as the store that nodes share: its keys, and how scripts are called. Owns one client
 * (redis-client.ts). A script that the server does not know (not yet, or since its restart) is sent once.
 *
 * Nothing is queued without a connection: such calls fail at once, and the caller uses its own share. The caller times
 * calls out; calls on a connection that hangs end with `reconnect`.
 */
import { connectionText } from '../../../lib/error-message.ts';
import { withTimeout } from '../../../lib/with-timeout.ts';
import { parseRedisUrl } from '../../../model/redis-url.ts';
import type { GrantDone, GrantReply, GrantRequest, LimitServer } from '../limit-server.ts';
import type { ListedNodes } from '../live-nodes.ts';
import { createCommander, type Commander, type ConnectOptions } from './redis-client.ts';
import { HEARTBEAT, type RedisScript, SCRIPT_OF } from './redis-scripts.ts';
import { fullestOf, readStoreMemory, type StoreMemory } from './store-memory.ts';
import { isReply, refusalText } from './store-refusals.ts';

export interface RedisOptions extends ConnectOptions {
  /** Prefix of every key, so that several installations can share a server. */
  readonly keyPrefix: string;
}

export class RedisLimitServer implements LimitServer {
  readonly isDivided: boolean;
  readonly #options: RedisOptions;
  #commander: Commander;
  #closed = false;

  /** @throws Error when the URL has none of the formats; the settings have already checked it */
  constructor(options: RedisOptions) {
    this.#options = options;
    this.isDivided = parseRedisUrl(options.url)?.kind === 'cluster';
    this.#commander = createCommander(options);
  }

  /** Resolves with true once connected, or with false after `timeoutMs`; keeps trying in any case. */
  async connect(timeoutMs: number): Promise<boolean> {
    return (await withTimeout(timeoutMs, this.#open())) ?? false;
  }

  grant(request: GrantRequest, done: GrantDone): void {
    void this.#grant(request, done);
  }

  async #grant(request: GrantRequest, done: GrantDone): Promise<void> {
    const key = `${this.#options.keyPrefix}limit:{${request.key}}`;
    let reply: GrantReply | undefined;
    let reason = 'unexpected answer of the script';
    let isRefused = false;
    try {
      const answer = await this.#run(SCRIPT_OF[request.rule.algorithm], key, grantArguments(request));
      reply = readGrant(answer, request);
    } catch (error) {
      const text = reasonOf(error);
      isRefused = isReply(text);
      reason = refusalText(text, key);
    }
    done(reply, reason, isRefused);
  }

  /** Notes that this node is alive; resolves with the number of live nodes and how many of them sort before it. */
  async heartbeat(nodeId: string, ttlMs: number, leave: boolean): Promise<ListedNodes> {
    const key = `${this.#options.keyPrefix}nodes`;
    const args = [nodeId, String(ttlMs), leave ? '1' : '0'];
    const reply = await this.#run(HEARTBEAT, key, args).catch((error: unknown) => {
      throw new Error(refusalText(reasonOf(error), key), { cause: error });
    });
    if (!isNumbers(reply)) throw new Error('unexpected answer of the script');
    return { count: reply[0] ?? 0, rank: reply[1] ?? 0, wasListed: reply[2] === 1 };
  }

  /**
   * Memory of the server, or of the fullest one of a cluster. undefined: it does not tell, since the user may not ask
   * for it (`+info`). Rejects without a connection.
   */
  async memory(): Promise<StoreMemory | undefined> {
    const answers = await this.#commander.sendToAll(['INFO', 'memory']);
    return fullestOf(answers.flatMap((answer) => readStoreMemory(String(answer)) ?? []));
  }

  reconnect(): void {
    if (this.#closed) return;
    this.#commander.destroy();
    this.#commander = createCommander(this.#options);
    void this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#commander.destroy();
  }

  #open(): Promise<boolean> {
    const commander = this.#commander;
    return commander.connect().then(
      () => true,
      () => false,
    );
  }

  async #run(script: RedisScript, key: string, args: readonly string[]): Promise<unknown> {
    const commander = this.#commander;
    if (!commander.isReady()) {
      const failure = commander.lastFailure();
      // Without a failure, an attempt is under way, which a server that hangs does not end.
      throw new Error(`there is no connection: ${failure || 'the server has not answered yet'}`);
    }
    try {
      return await commander.send(key, ['EVALSHA', script.sha1, '1', key, ...args]);
    } catch (error) {
      if (!reasonOf(error).startsWith('NOSCRIPT')) throw error;
      return commander.send(key, ['EVAL', script.text, '1', key, ...args]);
    }
  }
}

/** In the order in which the scripts read them. */
export function grantArguments(request: GrantRequest): string[] {
  const { rule } = request;
  return [
    String(rule.requests),
    String(rule.windowMs),
    String(rule.burst),
    request.consume ? '1' : '0',
    String(request.need),
    String(request.extra),
    String(request.holders),
    String(request.leaseMs),
    String(request.owed),
    String(request.unused),
    String(request.window),
    String(request.owedLately),
    String(request.owedForMs),
    // A rule without a limit during outages is not charged for them afterwards.
    rule.shared?.onFailure === 'allow' ? '1' : '2',
  ];
}

/** undefined if no script answers so: something else than the store is there, or answers came in another order. */
function readGrant(reply: unknown, { need, extra }: GrantRequest): GrantReply | undefined {
  if (!isNumbers(reply) || reply.length !== 6 || reply.some((number) => number < 0)) return undefined;
  const [granted = 0, left = 0, waitMs = 0, resetMs = 0, validMs = 0, window = 0] = reply;
  if (granted > need + extra) return undefined;
  return { granted, left, waitMs, resetMs, validMs, window };
}

function isNumbers(reply: unknown): reply is number[] {
  return Array.isArray(reply) && reply.every(Number.isSafeInteger);
}

function reasonOf(error: unknown): string {
  return error instanceof Error && error.message !== ''
    ? connectionText(error, 'NODE_EXTRA_CA_CERTS')
    : String(error);
}
