/** Helpers that the traffic and the management listener share. */
import { constants } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Clock } from './clock.ts';
import { systemCode } from './error-message.ts';

/**
 * A flag for `secureOptions` that forbids renegotiation within a connection of TLS 1.2. Node.js allows each
 * client three in ten minutes. Each costs a signature, no client needs one, and HTTP/2 forbids them (RFC 9113
 * section 9.2.1); TLS 1.3 has none.
 */
export const NO_RENEGOTIATION = constants.SSL_OP_NO_RENEGOTIATION;

/**
 * The TCP socket below a socket with TLS. Node has no public name for it. The addresses and ports of the connection
 * cannot identify it: they are gone once the client has disconnected.
 */
export function acceptedSocketOf(socket: Socket): Socket | undefined {
  const accepted: unknown = Reflect.get(socket, '_parent');
  return accepted instanceof Socket ? accepted : undefined;
}

/** What OpenSSL calls a first line of HTTP/1.1: a request with GET, HEAD, POST or PUT, or with CONNECT. */
const PLAIN_HTTP: readonly string[] = ['ERR_SSL_HTTP_REQUEST', 'ERR_SSL_HTTPS_PROXY_REQUEST'];

/** What a client is told that sends such a request to a port with TLS. */
export const PLAIN_HTTP_SENTENCE = 'This port serves TLS, and the request came without it: use https://';

/**
 * The socket on which a client can be answered that has sent HTTP without TLS to a port with TLS; undefined if the
 * handshake has failed for another reason, or the client has gone. Only while Node reports the failure: it closes the
 * socket after that, so the answer has to be written at once.
 */
export function plainHttpSocket(error: unknown, accepted: Socket | undefined): Socket | undefined {
  return PLAIN_HTTP.includes(systemCode(error)) && accepted?.writable === true ? accepted : undefined;
}

/** Whether a host to listen on can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The address by which this machine reaches a listener on all addresses; undefined for a listener on one address. */
export function loopbackOf(host: string): string | undefined {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : undefined;
}

/**
 * Connections that the kernel keeps for a listener until it accepts them, at most `net.core.somaxconn`. One that has no
 * room tries again after one, three and seven seconds, so that a burst would keep others waiting for as long.
 */
export const BACKLOG = 4_096;

/** Of the process. */
export interface Descriptors {
  readonly open: number;
  readonly limit: number;
}

/** Share in use from which operators are told that few are left. */
export const NEARLY_USED_UP = 0.88;
/** Share in use from which idle connections make room. The rest is for the database, files and requests under way. */
const SHARE = 0.9;
/**
 * Between two counts, a listener reckons with its own connections only. Before Linux 6.2 a count takes as long as there
 * are descriptors (20 ms for 20,000), so with many free ones there are fewer counts.
 */
const COUNT_MS = 1_000;
const COUNT_EVERY = 32;
/** Other threads, and connections to backends, take what is left meanwhile. */
const COUNT_SHARE = 1 / 16;

/**
 * Whether the file descriptors of the process are nearly used up, as a listener asks for each connection that it has
 * accepted, and the pool of backends for each that it opens. Known on Linux only (`/proc/self`, proc(5)); the limit may
 * change while the process runs.
 */
export class DescriptorRoom {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #count: () => Descriptors | undefined;
  /** How many more may be open. */
  #free = Infinity;
  #asked = 0;
  #countAfter = 0;
  #countedMs = -Infinity;

  /** @param count for tests */
  constructor(clock: Pick<Clock, 'monotonicMs'>, count: () => Descriptors | undefined = countDescriptors) {
    this.#clock = clock;
    this.#count = count;
  }

  /** Whether too few are left. Call it once for each connection that was accepted or is opened. */
  isShort(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#free -= 1;
    this.#asked += 1;
    if (this.#asked >= this.#countAfter || nowMs - this.#countedMs >= COUNT_MS) {
      const { open, limit } = this.#count() ?? { open: 0, limit: Infinity };
      this.#free = SHARE * limit - open;
      this.#asked = 0;
      this.#countAfter = Math.max(COUNT_EVERY, COUNT_SHARE * this.#free);
      this.#countedMs = nowMs;
    }
    return this.#free < 0;
  }

  /** A connection was closed to make room. */
  gained(): void {
    this.#free += 1;
  }
}

/** undefined if unknown. */
export function countDescriptors(): Descriptors | undefined {
  try {
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]);
    // Since Linux 6.2 the size of the folder is the number of its entries, so reading it is cheap.
    const open = statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length;
    return Number.isFinite(limit) ? { open, limit } : undefined;
  } catch (error) {
    // The check uses a descriptor itself.
    return isExhausted(error) ? { open: 1, limit: 1 } : undefined;
  }
}

function isExhausted(error: unknown): boolean {
  return ['EMFILE', 'ENFILE'].includes(systemCode(error));
}
