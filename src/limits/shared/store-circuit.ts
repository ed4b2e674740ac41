/**
 * Whether the shared store can be called. Closed: calls are made. Open: no request waits for the store; it is probed in
 * the background until it answers in time again.
 *
 * | state  | event                                                                          | next   |
 * | ------ | ------------------------------------------------------------------------------ | ------ |
 * | closed | a call failed, or was not answered in time and nothing else was answered since | open   |
 * | closed | a call was refused, and a probe right after it failed                            | open   |
 * | closed | anything else                                                                  | closed |
 * | open   | a probe was answered in time                                                   | closed |
 * | open   | anything else                                                                  | open   |
 *
 * After it closes, the circuit is not settled for a while: the threads of all nodes find the store again one after the
 * other, each with its next probe, and report what they have admitted in the meantime. Until all have done so, no
 * thread takes permits, since the store does not yet know the whole usage.
 *
 * A connection without an answer for one second is replaced: after a partition, TCP may take minutes to recover.
 */
import type { Clock } from '../../lib/clock.ts';
import type { After } from '../timers.ts';

export interface CircuitDeps {
  readonly clock: Clock;
  readonly after: After;
  /** How long an answer may take. */
  readonly timeoutMs: number;
  /**
   * Makes a call that uses all functions of the store that decisions need; `done` is called once, with '' or the reason
   * of the failure.
   */
  readonly probe: (done: (reason: string) => void) => void;
  readonly reconnect: () => void;
  readonly onOpen: (reason: string) => void;
  /** A further probe has failed, perhaps for another reason. */
  readonly onStillOpen: (reason: string) => void;
  /** The store has refused a call, and answers others: one bad counter must not take the others from it. */
  readonly onRefused: (reason: string) => void;
  readonly onClose: () => void;
}

const PROBE_MS = 100;
/** After this time all threads have probed the store, even with late timers. */
export const SETTLE_MS = 250;
const SILENCE_MS_MAX = 1_000;

export class StoreCircuit {
  readonly #deps: CircuitDeps;
  #isOpen: boolean;
  #answeredMs: number;
  #reconnectedMs: number;
  #settledAtMs = -Infinity;
  #stopped = false;
  /** A probe after a refusal is under way. */
  #isChecking = false;
  /** The beginning of an outage is reported once, including one at the start. */
  #told = false;

  /** Starts open and probes at once, since the state of the store is unknown. */
  constructor(deps: CircuitDeps) {
    this.#deps = deps;
    this.#isOpen = true;
    this.#answeredMs = this.#reconnectedMs = deps.clock.monotonicMs();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The store answers, and all threads have had the time to report their debts. */
  isSettled(monotonicMs: number): boolean {
    return !this.#isOpen && monotonicMs >= this.#settledAtMs;
  }

  answeredWithin(ms: number): boolean {
    return this.#deps.clock.monotonicMs() - this.#answeredMs <= ms;
  }

  /** Call it once. */
  start(): void {
    this.#probe();
  }

  stop(): void {
    this.#stopped = true;
  }

  answered(): void {
    this.#answeredMs = this.#deps.clock.monotonicMs();
  }

  /** A call that was sent at `sentMs` was not answered in time. */
  timedOut(sentMs: number): void {
    if (this.#answeredMs < sentMs) this.failed(`no answer within ${this.#deps.timeoutMs} ms`);
  }

  /** The store has answered a call with a refusal, of this call alone or of all. */
  refused(reason: string): void {
    if (this.#isOpen || this.#stopped || this.#isChecking) return;
    this.#isChecking = true;
    let settled = false;
    const settle = (isAnswered: boolean): void => {
      if (settled) return;
      settled = true;
      this.#isChecking = false;
      if (!isAnswered) return this.failed(reason);
      this.answered();
      if (!this.#isOpen) this.#deps.onRefused(reason);
    };
    const cancel = this.#deps.after(this.#deps.timeoutMs, () => settle(false));
    this.#deps.probe((why) => {
      cancel();
      settle(why === '');
    });
  }

  failed(reason: string): void {
    if (this.#isOpen || this.#stopped) return;
    this.#isOpen = true;
    this.#tell(reason);
    this.#probeLater();
  }

  #probeLater(): void {
    this.#deps.after(PROBE_MS, () => this.#probe());
  }

  #probe(): void {
    if (this.#stopped) return;
    const { clock, after, timeoutMs, probe } = this.#deps;
    let settled = false;
    const fail = (reason = `no answer within ${timeoutMs} ms`): void => {
      if (settled) return;
      settled = true;
      this.#tell(reason);
      this.#replaceSilentConnection();
      this.#probeLater();
    };
    const cancel = after(timeoutMs, () => fail());
    const sentMs = clock.monotonicMs();
    probe((reason) => {
      cancel();
      if (reason !== '') return fail(reason);
      this.answered();
      if (settled || clock.monotonicMs() - sentMs > timeoutMs || this.#stopped) return fail();
      settled = true;
      this.#isOpen = false;
      // The first start has nothing to report.
      if (this.#told) this.#settledAtMs = clock.monotonicMs() + SETTLE_MS;
      this.#told = false;
      this.#deps.onClose();
    });
  }

  #tell(reason: string): void {
    if (this.#stopped) return;
    if (this.#told) return this.#deps.onStillOpen(reason);
    this.#told = true;
    this.#deps.onOpen(reason);
  }

  #replaceSilentConnection(): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const silentMs = nowMs - Math.max(this.#answeredMs, this.#reconnectedMs);
    if (silentMs < SILENCE_MS_MAX) return;
    this.#reconnectedMs = nowMs;
    this.#deps.reconnect();
  }
}
