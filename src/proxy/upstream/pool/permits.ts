/**
 * Limits the connections that a worker uses at once to one backend. A request without a permit waits in a bounded
 * queue, until the deadline of its exchange. Owns the counts and the queues, per backend (pool key). Opens no
 * connections. Counts nothing without a limit.
 *
 * Several apps may have the same backend. A free permit goes to the waiting app that has the fewest permits. In a full
 * queue, a newcomer takes the place of the last request of the app with the most waiting requests, if its own app has
 * fewer. If a backend accepts many streams over HTTP/2, one app leaves a tenth of them to others.
 */
import type { CompiledBackend } from '../../../config/types.ts';

export interface PermitWaiter {
  /** Id of the app. */
  readonly app: string;
  /** The waiter now has a permit and must release it. Never called from within `tryAcquire` or `release`. */
  onPermit(poolKey: string): void;
  /** The waiter has lost its place in the queue. Also never called from within `tryAcquire` or `release`. */
  onDisplaced(poolKey: string): void;
  onDefect(error: unknown): void;
}

export interface PermitLimits {
  /** The number of requests that a backend accepts at once over HTTP/2; Infinity: no limit. */
  readonly streamsMax?: (backend: CompiledBackend) => number;
  /** Limit of connections in use per backend; 0 is unlimited. */
  readonly maxUpstreamConnections: number;
  /** Limit of waiting requests per backend. */
  readonly maxUpstreamQueue: number;
}

/** The counts of one app at one backend. */
interface AppUse {
  inUse: number;
  /** Waiting requests in the order of their arrival, with the backend as they have requested it. */
  readonly queue: Map<PermitWaiter, CompiledBackend>;
}

interface Backend {
  inUse: number;
  waiting: number;
  readonly apps: Map<string, AppUse>;
}

/** With at least as many streams at once, an app has at most nine times the free ones. */
const SHARED_FROM = 100;
const APP_SHARE = 9;

export class UpstreamPermits {
  readonly #limits: PermitLimits;
  readonly #backends = new Map<string, Backend>();
  #waiting = 0;

  constructor(limits: PermitLimits) {
    this.#limits = limits;
  }

  isBounded({ connectionsMax, protocol }: CompiledBackend): boolean {
    return connectionsMax !== undefined || this.#limits.maxUpstreamConnections > 0 || protocol !== 'http1';
  }

  /** Requests in all queues. */
  get waiting(): number {
    return this.#waiting;
  }

  /** How many idle connections may stay in addition to those in use. */
  idleMax(backend: CompiledBackend): number {
    const { connectionsMax = this.#limits.maxUpstreamConnections, poolKey } = backend;
    if (connectionsMax === 0) return Infinity;
    return Math.max(0, connectionsMax - (this.#backends.get(poolKey)?.inUse ?? 0));
  }

  tryAcquire(to: CompiledBackend, waiter: PermitWaiter): 'acquired' | 'waiting' | 'full' {
    const { poolKey } = to;
    const waitingMax = to.waitingMax ?? this.#limits.maxUpstreamQueue;
    let backend = this.#backends.get(poolKey);
    if (backend === undefined)
      this.#backends.set(poolKey, (backend = { inUse: 0, waiting: 0, apps: new Map() }));
    let own = backend.apps.get(waiter.app);
    if (own === undefined) backend.apps.set(waiter.app, (own = { inUse: 0, queue: new Map() }));
    if (this.#hasRoom(backend, own, to)) {
      backend.inUse += 1;
      own.inUse += 1;
      return 'acquired';
    }
    if (backend.waiting >= waitingMax && !this.#displace(poolKey, backend, own)) {
      this.#forget(poolKey, backend, waiter.app, own);
      return 'full';
    }
    own.queue.set(waiter, to);
    backend.waiting += 1;
    this.#waiting += 1;
    return 'waiting';
  }

  #hasRoom(backend: Backend, own: AppUse, to: CompiledBackend): boolean {
    const permitsMax = this.#permitsMax(to);
    const free = permitsMax - backend.inUse;
    if (free <= 0) return false;
    if (this.#isSet(to) || permitsMax < SHARED_FROM || permitsMax === Infinity) return true;
    return own.inUse < APP_SHARE * free;
  }

  /** One app can use up a configured limit alone. The limit of HTTP/2 depends on what the backend allows at present. */
  #isSet(to: CompiledBackend): boolean {
    return (to.connectionsMax ?? this.#limits.maxUpstreamConnections) > 0;
  }

  /** Makes room in a full queue. @returns false if no app has more waiting requests than this one would have */
  #displace(poolKey: string, backend: Backend, own: AppUse): boolean {
    let most: AppUse | undefined;
    for (const app of backend.apps.values())
      if (most === undefined || app.queue.size > most.queue.size) most = app;
    if (most === undefined || most === own || most.queue.size <= own.queue.size + 1) return false;
    const last = [...most.queue.keys()].at(-1);
    if (last === undefined) return false;
    this.#leave(backend, most, last);
    setImmediate(() => tell(last, () => last.onDisplaced(poolKey)));
    return true;
  }

  /** With HTTP/2, also limited by the room in its sessions. */
  #permitsMax(to: CompiledBackend): number {
    const configured = to.connectionsMax ?? this.#limits.maxUpstreamConnections;
    if (to.protocol === 'http1') return configured;
    const streams = this.#limits.streamsMax?.(to) ?? Infinity;
    return configured === 0 ? streams : Math.min(configured, streams);
  }

  /** Removes a waiter from the queue; does nothing if it is not there. */
  cancel(poolKey: string, waiter: PermitWaiter): void {
    const backend = this.#backends.get(poolKey);
    const own = backend?.apps.get(waiter.app);
    if (backend === undefined || own?.queue.has(waiter) !== true) return;
    this.#leave(backend, own, waiter);
    this.#forget(poolKey, backend, waiter.app, own);
  }

  /** The permit goes to a waiting request, if there is one. @param app the app that had the permit */
  release(poolKey: string, app: string): void {
    const backend = this.#backends.get(poolKey);
    const own = backend?.apps.get(app);
    if (backend === undefined || own === undefined) return;
    backend.inUse -= 1;
    own.inUse -= 1;
    let isGranted = backend.waiting > 0 && this.#grantNext(poolKey, backend, true);
    while (isGranted && backend.waiting > 0) isGranted = this.#grantNext(poolKey, backend, false);
    this.#forget(poolKey, backend, app, own);
  }

  /**
   * Gives it to the first request of the app with the fewest permits, among the apps that may have one more.
   * @param isPassedOn another request has just released it, so a configured limit has room
   */
  #grantNext(poolKey: string, backend: Backend, isPassedOn: boolean): boolean {
    let next: PermitWaiter | undefined;
    let fewest: AppUse | undefined;
    for (const app of backend.apps.values()) {
      if (fewest !== undefined && fewest.inUse <= app.inUse) continue;
      for (const [first, to] of app.queue) {
        if (!(isPassedOn && this.#isSet(to)) && !this.#hasRoom(backend, app, to)) break;
        next = first;
        fewest = app;
        break;
      }
    }
    if (next === undefined || fewest === undefined) return false;
    const waiter = next;
    this.#leave(backend, fewest, waiter);
    backend.inUse += 1;
    fewest.inUse += 1;
    // If several apps have the same number, they take turns.
    backend.apps.delete(waiter.app);
    backend.apps.set(waiter.app, fewest);
    // In a later tick: the caller has work to finish, and TLS connections return to the pool one tick later.
    setImmediate(() => tell(waiter, () => waiter.onPermit(poolKey)));
    return true;
  }

  #leave(backend: Backend, own: AppUse, waiter: PermitWaiter): void {
    own.queue.delete(waiter);
    backend.waiting -= 1;
    this.#waiting -= 1;
  }

  #forget(poolKey: string, backend: Backend, app: string, own: AppUse): void {
    if (own.inUse > 0 || own.queue.size > 0) return;
    backend.apps.delete(app);
    if (backend.apps.size === 0) this.#backends.delete(poolKey);
  }
}

function tell(waiter: PermitWaiter, step: () => void): void {
  try {
    step();
  } catch (error) {
    waiter.onDefect(error);
  }
}
