/**
 * Makes the orders that are due. It takes the lease, so that only one gateway on a database orders certificates, runs a
 * few orders at once, and stores the result of each. Works in ticks of a second; nothing waits for it. A name waits
 * longer after each failure. While the directory cannot be used, all names wait, which does not count as their failure.
 * Also starts the questions about the times of renewals (renewal-windows.ts), which need the lease, too. Owns the lease
 * and the orders under way.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import { randomFraction } from '../../lib/ids.ts';
import { messageOf } from '../../lib/error-message.ts';
import type { Logger } from '../../observe/log.ts';
import type { AcmeSettings } from '../../settings/settings.ts';
import { AcmeLeaseLost, type AcmeStore } from '../../storage/acme-store.ts';
import { StorageUnavailable } from '../../storage/storage-errors.ts';
import type { AccountKey } from './account-key.ts';
import { prepareAccount } from './acme-account.ts';
import type { AcmeClient } from './acme-client.ts';
import { AcmeProblem } from './acme-messages.ts';
import type { AcmeView } from './acme-view.ts';
import { DirectoryUnavailable, type ClockDiffers } from './directory-http.ts';
import { DirectoryWait } from './directory-wait.ts';
import { nextOrders, ORDERS_AT_ONCE, pauseMs, type DueName } from './order-queue.ts';
import { NO_ORDER, OrderFailed, runOrder } from './order-run.ts';
import { dueNow, isBefore, isRenewalUrgent, nextTryMs } from './renewal.ts';
import { RenewalWindows } from './renewal-windows.ts';
import type { WantedNames } from './wanted-names.ts';

const TICK_MS = 1_000;
/** Interval of reading the database, in case the message about another gateway's change was lost. */
const LOOK_MS = 5_000;
const HOUR_MS = 3_600_000;
const PRUNE_MS = HOUR_MS;
const KEPT_MS = 7 * 24 * HOUR_MS;
/** An order has failed when the directory could not be asked about it for this long. */
const LOST_ORDER_MS = 2 * HOUR_MS;
const PAUSE_MS = { usual: HOUR_MS, max: 24 * HOUR_MS };

const ORDER_RESULTS = ['issued', 'failed', 'interrupted'] as const;
export type OrderResult = (typeof ORDER_RESULTS)[number];

export interface AcmeOrdersDeps {
  readonly settings: AcmeSettings;
  readonly store: () => AcmeStore;
  readonly view: AcmeView;
  readonly client: AcmeClient;
  /** Names the process in the lease. */
  readonly holder: string;
  /** How long other gateways wait for the lease of a killed gateway. */
  readonly leaseMs: number;
  readonly wanted: () => WantedNames;
  /** Resolves when all gateways use the stored state. */
  readonly announce: () => Promise<void>;
  /** Why a name cannot be ordered now, for example because it has no address; undefined when no reason is known. */
  readonly check: (name: string) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Logger;
}

export class AcmeOrders {
  readonly #deps: AcmeOrdersDeps;
  readonly #jobs = new Map<
    string,
    { readonly app: string; readonly isNew: boolean; readonly done: Promise<void> }
  >();
  readonly #results = new Map<OrderResult, number>(ORDER_RESULTS.map((result) => [result, 0]));
  readonly #abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> | undefined;
  #account: Promise<AccountKey> | undefined;
  #hasLease = false;
  #leasedMs = -Infinity;
  #lookedMs = -Infinity;
  #prunedMs = -Infinity;
  readonly #directory: DirectoryWait;
  readonly #windows: RenewalWindows;
  #databaseProblem = '';
  #isAtLimit = false;
  #hasClockProblem = false;
  #startedMs = Infinity;
  /**
   * Refusals in a row because of the authority's limits, and the time until which the last one makes all names wait.
   */
  #refusals = 0;
  #refusedUntilMs = 0;

  constructor(deps: AcmeOrdersDeps) {
    this.#deps = deps;
    this.#directory = new DirectoryWait(deps);
    this.#windows = new RenewalWindows({
      ...deps,
      directory: deps.settings.directory,
      signal: this.#abort.signal,
      onFailure: (error) => this.#tickFailed(error),
      onClock: (error) => this.#clockChecked(error),
    });
  }

  get results(): ReadonlyMap<OrderResult, number> {
    return this.#results;
  }

  /** Why the directory cannot be used; undefined when it can, or when this gateway does not order. */
  get directoryProblem(): string | undefined {
    return this.#directory.problem;
  }

  /** Whether names wait because the hourly limit of orders is reached. */
  get isAtLimit(): boolean {
    return this.#isAtLimit;
  }

  /**
   * When certificates whose keys cannot be decrypted are ordered again. Until then the gateway can be restarted
   * with the right secret key, and nothing is lost.
   */
  get unopenedReplacedAtMs(): number {
    const { clock, settings } = this.#deps;
    const leftMs = this.#startedMs + settings.retrySecs * 1_000 - clock.monotonicMs();
    return clock.nowMs() + Math.max(leftMs, 0);
  }

  /** Whether an order of the name runs in this gateway. */
  isRunning(name: string): boolean {
    return this.#jobs.has(name);
  }

  start(): void {
    this.#startedMs = this.#deps.clock.monotonicMs();
    this.#timer = setInterval(() => this.tick(), Math.min(TICK_MS, this.#deps.leaseMs / 3));
  }

  /** Orders under way keep their stored state. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#abort.abort();
    await this.#ticking;
    await this.#windows.asked;
    await Promise.all([...this.#jobs.values()].map(({ done }) => done));
    if (this.#hasLease)
      await this.#deps
        .store()
        .release(this.#deps.holder)
        .catch(() => undefined);
  }

  tick(): void {
    if (this.#abort.signal.aborted) return;
    this.#ticking ??= this.#tick()
      .catch((error: unknown) => this.#tickFailed(error))
      .finally(() => (this.#ticking = undefined));
  }

  async #tick(): Promise<void> {
    const { clock, view } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#lookedMs >= LOOK_MS) {
      await view.look();
      this.#lookedMs = nowMs;
    }
    const isIdle = this.#jobs.size === 0;
    if (isIdle && this.#directory.isWaiting) return;
    if (isIdle && this.#due().length === 0 && !this.#windows.isDue) return this.#release();
    if (!(await this.#keepLease(nowMs))) return;
    if (this.#directory.isWaiting) return;
    await this.#startOrders();
    // Not awaited: a silent directory would delay the renewal of the lease and the start of orders.
    this.#windows.ask();
    await this.#prune(nowMs);
    this.#databaseProblem = '';
  }

  #due(): DueName[] {
    const { view, wanted, settings, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const isPaused = isBefore(view.pause.untilMs, nowMs);
    const replacesUnopened = nowMs >= this.unopenedReplacedAtMs;
    const due: DueName[] = [];
    for (const [name, app] of wanted()) {
      const row = view.rows.get(name);
      const reason = this.#jobs.has(name)
        ? undefined
        : dueNow(row, settings.directory, nowMs, replacesUnopened);
      if (reason === undefined || (isPaused && reason !== 'under_way')) continue;
      const isUrgent = reason === 'renewal' && isRenewalUrgent(row, nowMs);
      due.push({ name, app, reason, expiresAtMs: row?.expires_at_ms ?? 0, isUrgent });
    }
    return due;
  }

  async #keepLease(nowMs: number): Promise<boolean> {
    const { store, holder, leaseMs, view } = this.#deps;
    if (this.#hasLease && nowMs - this.#leasedMs < leaseMs / 3) return true;
    const had = this.#hasLease;
    this.#hasLease = await store().lease(holder, leaseMs);
    if (!this.#hasLease) return false;
    this.#leasedMs = nowMs;
    if (had) return true;
    // The previous holder may have completed what seemed to be due, and may have created the account.
    this.#account = undefined;
    await view.refresh();
    return true;
  }

  async #release(): Promise<void> {
    this.#isAtLimit = false;
    if (!this.#hasLease) return;
    this.#hasLease = false;
    await this.#deps.store().release(this.#deps.holder);
  }

  async #startOrders(): Promise<void> {
    const due = this.#due();
    if (due.length === 0 || this.#jobs.size >= ORDERS_AT_ONCE) return;
    const { store, settings, clock } = this.#deps;
    const nowMs = clock.nowMs();
    let left = settings.ordersPerHour - (await store().ordersBetween(nowMs - HOUR_MS, nowMs + HOUR_MS));
    // Some of these orders are already recorded and count twice. That does no harm: fewer orders than allowed are made.
    for (const { isNew } of this.#jobs.values()) if (isNew) left -= 1;
    const wasAtLimit = this.#isAtLimit;
    this.#isAtLimit = false;
    const running = [...this.#jobs.values()].map(({ app }) => app);
    for (const { name, app, reason } of nextOrders(due, running)) {
      if (this.#jobs.size >= ORDERS_AT_ONCE) return;
      const isNew = reason !== 'under_way';
      if (isNew && left <= 0) {
        this.#isAtLimit = true;
        if (!wasAtLimit) {
          this.#deps.log.warn(
            { max: settings.ordersPerHour },
            'orders for certificates have to wait: GATEWAY_ACME__ORDERS_PER_HOUR is reached',
          );
        }
        continue;
      }
      if (isNew) left -= 1;
      const done = this.#run(name).finally(() => this.#jobs.delete(name));
      this.#jobs.set(name, { app, isNew, done });
    }
  }

  /** Never rejects. */
  async #run(name: string): Promise<void> {
    const { view, client, store, holder, settings, clock, announce, wanted, log } = this.#deps;
    const row = view.rows.get(name);
    try {
      const isUnderWay = row !== undefined && row.order_key !== null;
      const problem = isUnderWay ? undefined : await this.#deps.check(name);
      if (problem !== undefined) return await this.#fail(name, problem, true);
      if (!isUnderWay) await client.checkClock();
      const { thumbprint } = await this.#prepared();
      await runOrder(name, row, {
        ...settings,
        client,
        writer: store().as(holder),
        clock,
        thumbprint,
        announce,
        signal: this.#abort.signal,
        isTaken: (url) => [...view.rows.values()].some(({ order_url: taken }) => taken === url),
        isWanted: (each) => wanted().has(each),
      });
      this.#directory.worked();
      this.#refusals = 0;
      this.#count('issued');
      await announce();
      const expiresAtMs = view.rows.get(name)?.expires_at_ms ?? 0;
      log.info({ name, expires_at: timestamp(expiresAtMs) }, 'a certificate was issued');
    } catch (error) {
      await this.#settle(name, error).catch((failure: unknown) => this.#tickFailed(failure));
    }
  }

  #clockChecked(error: ClockDiffers | undefined): void {
    if (error !== undefined) this.#directory.failed(error);
    else if (this.#hasClockProblem) this.#directory.worked();
    this.#hasClockProblem = error !== undefined;
  }

  #prepared(): Promise<AccountKey> {
    const { client, store, holder, settings, clock } = this.#deps;
    const parts = {
      client,
      store: store(),
      writer: store().as(holder),
      directory: settings.directory,
      clock,
    };
    this.#account ??= prepareAccount(parts).catch((error: unknown) => {
      this.#account = undefined;
      throw error;
    });
    return this.#account;
  }

  async #settle(name: string, error: unknown): Promise<void> {
    const isLeaseLost = error instanceof AcmeLeaseLost || error instanceof StorageUnavailable;
    if (isLeaseLost || this.#abort.signal.aborted) {
      this.#count('interrupted');
      // At the end of the gateway, `stop` returns the lease.
      if (isLeaseLost) this.#hasLease = false;
      if (error instanceof StorageUnavailable) this.#tickFailed(error);
      return undefined;
    }
    if (error instanceof DirectoryUnavailable) {
      this.#directory.failed(error);
      const startedMs = (await this.#deps.store().find(name))?.order_started_ms ?? Infinity;
      if (this.#deps.clock.nowMs() - startedMs < LOST_ORDER_MS) return this.#refreshed('interrupted');
      return this.#fail(name, `the directory cannot be asked about the order: ${error.message}`);
    }
    if (error instanceof AcmeProblem && error.type === 'rateLimited') return this.#pause(name, error);
    if (error instanceof AcmeProblem && error.type === 'accountDoesNotExist')
      return this.#forgetAccount(error);
    if (!(error instanceof OrderFailed || error instanceof AcmeProblem))
      this.#deps.log.error({ err: error, name }, 'an order for a certificate ended unexpectedly');
    return this.#fail(name, messageOf(error));
  }

  /** @param isOwn whether the failure was found without a request to the authority */
  async #fail(name: string, reason: string, isOwn = false): Promise<void> {
    const { store, holder, settings, clock, log } = this.#deps;
    const writer = store().as(holder);
    const before = (await store().find(name))?.failures ?? 0;
    const failures = isOwn ? before : before + 1;
    const nowMs = clock.nowMs();
    const firstMs = settings.retrySecs * 1_000;
    const next = nextTryMs(nowMs, isOwn ? 1 : failures, firstMs, randomFraction());
    await writer.setChallenges(name, []);
    await writer.change(name, {
      failures,
      last_error: reason,
      failed_at_ms: nowMs,
      next_try_ms: next,
      ...NO_ORDER,
    });
    log.warn({ name, reason, next_try_at: timestamp(next) }, 'a certificate was not issued');
    await this.#refreshed('failed');
  }

  /** Applies a refusal because of the authority's limits (RFC 8555 section 6.6). */
  async #pause(name: string, { message, retryAfterMs }: AcmeProblem): Promise<void> {
    const { store, holder, clock, log } = this.#deps;
    const nowMs = clock.nowMs();
    // Orders that run at the same time are refused together.
    if (nowMs >= this.#refusedUntilMs) this.#refusals += 1;
    const toldMs = Math.min(retryAfterMs ?? PAUSE_MS.usual, PAUSE_MS.max);
    const untilMs = nowMs + pauseMs(this.#refusals, toldMs);
    this.#refusedUntilMs = untilMs;
    const nextMs = nowMs + toldMs;
    const writer = store().as(holder);
    await writer.pause(untilMs, message);
    const row = await store().find(name);
    // The directory has created no order.
    const order = row?.order_url === null ? NO_ORDER : {};
    await writer.change(name, {
      last_error: message,
      failed_at_ms: nowMs,
      next_try_ms: nextMs,
      ...order,
    });
    log.warn(
      { name, reason: message, next_try_at: timestamp(nextMs), until: timestamp(untilMs) },
      'the ACME directory accepts no more orders for now',
    );
    await this.#refreshed('failed');
  }

  /** The directory no longer knows the account, for example because it was set up again. The key stays. */
  async #forgetAccount(error: AcmeProblem): Promise<void> {
    const { store, holder, settings } = this.#deps;
    const account = await store().account(settings.directory);
    if (account !== undefined)
      await store()
        .as(holder)
        .putAccount({ ...account, url: undefined }, '');
    this.#account = undefined;
    this.#directory.failed(new DirectoryUnavailable(error.message));
    this.#count('interrupted');
  }

  async #refreshed(result: OrderResult): Promise<void> {
    this.#count(result);
    await this.#deps.view.refresh();
  }

  #count(result: OrderResult): void {
    this.#results.set(result, (this.#results.get(result) ?? 0) + 1);
  }

  /** Logs the failure; the next tick tries again. */
  #tickFailed(error: unknown): void {
    if (error instanceof AcmeLeaseLost) {
      this.#hasLease = false;
      return;
    }
    const message = messageOf(error);
    if (message === this.#databaseProblem) return;
    this.#databaseProblem = message;
    this.#deps.log.warn({ err: error }, 'cannot check which certificates are due; trying again');
  }

  /** Removes rows of names that no app has any more, once they have no certificate that could be served. */
  async #prune(nowMs: number): Promise<void> {
    const { view, wanted, store, holder, clock } = this.#deps;
    if (nowMs - this.#prunedMs < PRUNE_MS || this.#jobs.size > 0) return;
    this.#prunedMs = nowMs;
    const names = wanted();
    const endMs = clock.nowMs();
    const gone = [...view.rows.values()].filter(
      ({ name, expires_at_ms: expiresAtMs }) => !names.has(name) && (expiresAtMs ?? 0) < endMs - KEPT_MS,
    );
    const goneNames = gone.map(({ name }) => name);
    await store()
      .as(holder)
      .remove(goneNames, endMs - KEPT_MS);
    view.forget(goneNames);
    await view.refresh();
  }
}
