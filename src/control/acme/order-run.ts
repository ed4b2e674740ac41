/**
 * One order of one name, from its current step to the stored certificate (RFC 8555 section 7.4). Each step is stored
 * before the next request to the directory, so another gateway can continue after any step. If an answer of the
 * directory was lost, the state is read from the directory; the request is not repeated.
 */
import type { Clock } from '../../lib/clock.ts';
import { randomFraction, uuidv7 } from '../../lib/ids.ts';
import { certificateFacts } from '../../proxy/downstream/tls/tls-certificate.ts';
import type { AcmeCertificate, AcmeWriter, ChallengeKind } from '../../storage/acme-store.ts';
import type { AcmeClient } from './acme-client.ts';
import { AcmeProblem, type Authorization, type Challenge, type Order } from './acme-messages.ts';
import { renewAtMs } from './renewal.ts';
import { certificateRequest, newPrivateKey, renewalId, type KeyType } from './x509.ts';

/** An order that takes longer has failed. */
const ORDER_MS_MAX = 600_000;
const POLL_MS = { first: 250, max: 5_000, retryAfterMax: 60_000 };
/** Limit of the newest orders of the account that are searched for an order whose answer was lost. */
const ORDERS_LOOKED_AT = 50;

/** The authority did not issue the certificate; the message is for the operator. */
export class OrderFailed extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OrderFailed';
  }
}

export interface OrderParts {
  readonly client: AcmeClient;
  readonly writer: AcmeWriter;
  readonly clock: Clock;
  readonly directory: string;
  readonly keyType: KeyType;
  /** The preferred kinds first. */
  readonly challenges: readonly ChallengeKind[];
  /** The thumbprint of the account's key. */
  readonly thumbprint: string;
  /** Resolves when all gateways answer the stored challenges. */
  readonly announce: () => Promise<void>;
  /** Ends waiting. */
  readonly signal: AbortSignal;
  /** Whether an order is under way for another name. */
  readonly isTaken: (url: string) => boolean;
  /** Whether a name is still wanted. */
  readonly isWanted: (name: string) => boolean;
}

/**
 * Resolves when the certificate is stored.
 * @param row undefined when the name has none
 * @throws OrderFailed, AcmeProblem, DirectoryUnavailable, AcmeLeaseLost, StorageUnavailable
 */
export async function runOrder(
  name: string,
  row: AcmeCertificate | undefined,
  parts: OrderParts,
): Promise<void> {
  const { order_key: key, order_url: url } = row ?? {};
  const isUnderWay = typeof key === 'string' && row?.order_directory === parts.directory;
  const run = new OrderRun(name, row, parts);
  if (!isUnderWay) return run.begin();
  // Without a URL it is unknown whether the directory has the order.
  return typeof url === 'string' ? run.follow(url, key) : run.adopt(key);
}

class OrderRun {
  readonly #name: string;
  readonly #row: AcmeCertificate | undefined;
  readonly #parts: OrderParts;
  readonly #endMs: number;
  readonly #answered = new Set<string>();
  #pollMs = POLL_MS.first;

  constructor(name: string, row: AcmeCertificate | undefined, parts: OrderParts) {
    this.#name = name;
    this.#row = row;
    this.#parts = parts;
    this.#endMs = parts.clock.monotonicMs() + ORDER_MS_MAX;
  }

  async begin(): Promise<void> {
    const { writer, clock, directory, keyType } = this.#parts;
    const key = await newPrivateKey(keyType);
    const nowMs = clock.nowMs();
    const order = { order_directory: directory, order_key: key, order_url: null, order_started_ms: nowMs };
    await writer.beginOrder(uuidv7(nowMs), this.#name, order, nowMs);
    await this.#order(key);
  }

  /** Finds an order that the directory already has, or creates one. */
  async adopt(key: string): Promise<void> {
    const { client, isTaken } = this.#parts;
    const urls = (await client.orders(ORDERS_LOOKED_AT)) ?? [];
    for (const url of urls.toReversed()) {
      if (isTaken(url)) continue;
      const { value } = await client.order(url);
      const isOpen = value.status === 'pending' || value.status === 'ready';
      if (isOpen && value.names.length === 1 && value.names[0] === this.#name) return this.#take(url, key);
    }
    await this.#order(key);
  }

  async #order(key: string): Promise<void> {
    const { client } = this.#parts;
    const chain = this.#row?.directory === this.#parts.directory ? this.#row.chain : null;
    const replaces = chain === null ? undefined : await renewalId(chain);
    const { url } = await client.newOrder(this.#name, replaces);
    await this.#take(url, key);
  }

  async #take(url: string, key: string): Promise<void> {
    await this.#parts.writer.change(this.#name, { order_url: url });
    await this.follow(url, key);
  }

  async follow(url: string, key: string): Promise<void> {
    const { client, clock, signal, isWanted } = this.#parts;
    for (;;) {
      signal.throwIfAborted();
      if (!isWanted(this.#name)) throw new OrderFailed('no app has this name any more');
      const { value: order, retryAfterMs } = await client.order(url);
      if (!order.names.includes(this.#name)) throw new OrderFailed('the order is for another name');
      if (order.status === 'valid') return this.#store(order, key);
      if (order.status === 'invalid') throw await this.#failure(order);
      if (order.status === 'pending') await this.#authorize(order);
      if (order.status === 'ready') {
        await client.finalize(order.finalize, await certificateRequest(this.#name, key));
        this.#pollMs = POLL_MS.first;
      }
      if (clock.monotonicMs() > this.#endMs)
        throw new OrderFailed(`the order is still ${order.status} after ${ORDER_MS_MAX / 60_000} minutes`);
      await this.#pause(order.status === 'processing' ? retryAfterMs : undefined);
    }
  }

  async #authorize(order: Order): Promise<void> {
    for (const url of order.authorizations) {
      const { value } = await this.#parts.client.authorization(url);
      if (value.status === 'valid') continue;
      if (value.status !== 'pending') throw authorizationFailure(value);
      if (value.name !== this.#name) throw new OrderFailed('the authorization is for another name');
      await this.#answer(this.#choose(value));
    }
  }

  /** After a failure, tries the next kind of challenge if there are several. */
  #choose({ challenges }: Authorization): Challenge {
    const kinds = this.#parts.challenges;
    const first = (this.#row?.failures ?? 0) % kinds.length;
    for (const kind of [...kinds.slice(first), ...kinds.slice(0, first)]) {
      const found = challenges.find(({ type }) => type === kind);
      if (found !== undefined) return found;
    }
    const offered = challenges.map(({ type }) => type).join(', ');
    throw new OrderFailed(
      `the authority offers ${offered || 'no challenge'}, and GATEWAY_ACME__CHALLENGES has ${kinds.join(', ')}`,
    );
  }

  async #answer({ type, token, url, status }: Challenge): Promise<void> {
    const { client, writer, announce, thumbprint } = this.#parts;
    if (this.#answered.has(url)) return;
    const kind = type as ChallengeKind;
    const challenge = { token, name: this.#name, kind, key_authorization: `${token}.${thumbprint}` };
    await writer.setChallenges(this.#name, [challenge]);
    await announce();
    this.#answered.add(url);
    this.#pollMs = POLL_MS.first;
    // Another gateway may have responded before it ended.
    if (status === 'pending') await client.respond(url).catch(ignoreProblem);
  }

  async #failure(order: Order): Promise<Error> {
    for (const url of order.authorizations) {
      const { value } = await this.#parts.client.authorization(url);
      if (value.status !== 'valid' && value.status !== 'pending') return authorizationFailure(value);
    }
    return new OrderFailed(order.problem?.message ?? 'the authority refused the order');
  }

  async #store({ certificate: url }: Order, key: string): Promise<void> {
    const { client, writer, clock, directory } = this.#parts;
    if (url === undefined) throw new OrderFailed('the order is valid, but has no certificate');
    const chain = await client.certificate(url);
    const facts = certificateFacts({ cert: chain, key });
    if ('error' in facts) throw new OrderFailed(`the certificate cannot be used: ${facts.error}`);
    if (!facts.names.includes(this.#name)) throw new OrderFailed('the certificate is for another name');
    const nowMs = clock.nowMs();
    const { renewalInfo } = await client.directory();
    if (facts.expiresAtMs <= nowMs)
      throw new OrderFailed('the certificate has expired already by the clock of this machine');
    await writer.setChallenges(this.#name, []);
    await writer.change(this.#name, {
      directory,
      chain,
      private_key: key,
      valid_from_ms: facts.validFromMs,
      expires_at_ms: facts.expiresAtMs,
      renew_at_ms: renewAtMs(facts, randomFraction()),
      window_check_ms: renewalInfo === undefined ? null : nowMs,
      failures: 0,
      last_error: null,
      failed_at_ms: null,
      next_try_ms: 0,
      ...NO_ORDER,
    });
  }

  async #pause(retryAfterMs: number | undefined): Promise<void> {
    const ms = Math.min(Math.max(retryAfterMs ?? 0, this.#pollMs), POLL_MS.retryAfterMax);
    this.#pollMs = Math.min(this.#pollMs * 1.5, POLL_MS.max);
    const { signal } = this.#parts;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener('abort', end);
    });
  }
}

/** The columns of a name whose order has ended. */
export const NO_ORDER = {
  order_directory: null,
  order_key: null,
  order_url: null,
  order_started_ms: null,
} as const;

function authorizationFailure({ status, challenges }: Authorization): OrderFailed {
  const problem = challenges.find(({ problem: each }) => each !== undefined)?.problem;
  return new OrderFailed(problem?.message ?? `the authorization is ${status}`);
}

function ignoreProblem(error: unknown): void {
  if (!(error instanceof AcmeProblem) || error.type === 'rateLimited') throw error;
}
