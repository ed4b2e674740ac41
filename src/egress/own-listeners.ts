/**
 * The ports on which this gateway listens, and the addresses by which it reaches itself. The ports are in memory that
 * all threads share, since port 0 is resolved only when the first worker listens.
 */
import type { Clock } from '../lib/clock.ts';
import { readOwnAddresses } from './own-addresses.ts';

/** How long the list of the machine's addresses is cached. */
const ADDRESSES_MS = 5_000;
const LISTENERS = { management: 0, traffic: 1, traffic_tls: 2 } as const;
const NAMES = Object.keys(LISTENERS) as (keyof typeof LISTENERS)[];

export type ListenerName = keyof typeof LISTENERS;

/** The listeners as messages call them. */
export const LISTENER_TEXTS: Readonly<Record<ListenerName, string>> = {
  management: 'management',
  traffic: 'traffic',
  traffic_tls: 'traffic (TLS)',
};

export function createOwnPorts(): SharedArrayBuffer {
  return new SharedArrayBuffer(NAMES.length * Int32Array.BYTES_PER_ELEMENT);
}

export class OwnListeners {
  readonly #ports: Int32Array;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #isOwnAddress: (address: string) => boolean = () => false;
  #readAtMs = -Infinity;

  /** @param memory returned by `createOwnPorts` */
  constructor(memory: SharedArrayBuffer, clock: Pick<Clock, 'monotonicMs'>) {
    this.#ports = new Int32Array(memory);
    this.#clock = clock;
  }

  /** @param port 0 if it is not known yet */
  set(name: ListenerName, port: number): void {
    Atomics.store(this.#ports, LISTENERS[name], port);
  }

  /** The port of a listener; 0 if it is not known yet. */
  portOf(name: ListenerName): number {
    return Atomics.load(this.#ports, LISTENERS[name]);
  }

  /**
   * The listener that a connection would reach; undefined for none.
   * @param address in canonical form
   */
  at(address: string, port: number): ListenerName | undefined {
    const name = this.#withPort(port);
    return name !== undefined && this.#isHere(address) ? name : undefined;
  }

  #withPort(port: number): ListenerName | undefined {
    // Connections to port 0 do not exist: a listener without a port is not found.
    return NAMES.find((name) => this.portOf(name) === port);
  }

  /** Loopback, the unspecified address (which connects to loopback), and the addresses of the machine. */
  #isHere(address: string): boolean {
    if (address.startsWith('127.') || address === '::1') return true;
    if (address === '0.0.0.0' || address === '::') return true;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#readAtMs >= ADDRESSES_MS) {
      this.#isOwnAddress = readOwnAddresses();
      this.#readAtMs = nowMs;
    }
    return this.#isOwnAddress(address);
  }
}
