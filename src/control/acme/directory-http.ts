/**
 * HTTP with an ACME directory: one request, bounded in time and size, over TLS only, to addresses that egress allows.
 * Does not know ACME. Owns the connections.
 */
import { rootCertificates } from 'node:tls';
import { Agent, request } from 'undici';
import { requestText } from '../../lib/error-message.ts';
import type { Egress } from '../../egress/egress.ts';
import { systemLookup } from '../../egress/name-queries.ts';

/** A directory may wait for other services before it answers. */
const TIMEOUT_MS = 20_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** The longest answers are certificate chains and lists of orders. */
const RESPONSE_BYTES_MAX = 262_144;
const HEAD_BYTES_MAX = 32_768;
const HTTPS_PORT = 443;

export interface HttpAnswer {
  readonly status: number;
  /** The first value of a field; '' if it is missing. */
  header(name: string): string;
  readonly headers: (name: string) => readonly string[];
  readonly text: string;
}

/**
 * The directory cannot be used now: it does not answer, or its answer is not ACME. The message is for people
 * and contains no secret.
 */
export class DirectoryUnavailable extends Error {
  /** How long the directory asks to wait before the next request; undefined when it does not say. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'DirectoryUnavailable';
    this.retryAfterMs = retryAfterMs;
  }
}

/** The clock of this machine is not that of the directory. */
export class ClockDiffers extends DirectoryUnavailable {}

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST';
  readonly url: string;
  readonly body?: string;
  readonly accept?: string;
}

export class DirectoryHttp {
  readonly #egress: Egress;
  readonly #readCa: () => string | undefined;
  /** What the agents trust. */
  #ca: string | undefined;
  /** By port, because egress rules apply to addresses with ports. */
  readonly #agents = new Map<number, Agent>();
  #isClosed = false;

  /** @param readCa PEM of further authorities, now; undefined: only the authorities of Node.js */
  constructor(egress: Egress, readCa: () => string | undefined) {
    this.#egress = egress;
    this.#readCa = readCa;
  }

  /** @throws DirectoryUnavailable */
  async send({ method, url, body, accept = '*/*' }: HttpRequest): Promise<HttpAnswer> {
    // A retry during shutdown would open connections that nothing closes.
    if (this.#isClosed) throw new DirectoryUnavailable('the gateway is stopping');
    const target = URL.parse(url);
    if (target?.protocol !== 'https:' || target.username + target.password !== '')
      throw new DirectoryUnavailable(`it names a URL that cannot be used: ${shown(url)}`);
    const port = Number(target.port) || HTTPS_PORT;
    const denial = this.#egress.hostDenial(target.hostname, port);
    if (denial !== undefined) throw new DirectoryUnavailable(denial);
    try {
      const answer = await request(target, {
        method,
        dispatcher: this.#agent(port),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          accept,
          'user-agent': 'headgate',
          ...(body !== undefined && { 'content-type': 'application/jose+json' }),
        },
        ...(body !== undefined && { body }),
      });
      const text = await boundedText(answer.body);
      const all = (name: string): readonly string[] => {
        const value = answer.headers[name];
        return value === undefined ? [] : [value].flat();
      };
      return { status: answer.statusCode, text, headers: all, header: (name) => all(name)[0] ?? '' };
    } catch (error) {
      if (error instanceof DirectoryUnavailable) throw error;
      throw new DirectoryUnavailable(
        `${target.host} does not answer: ${requestText(error, TIMEOUT_MS, 'GATEWAY_ACME__CA_FILE')}`,
      );
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
    this.#agents.clear();
  }

  #agent(port: number): Agent {
    const ca = this.#readCa();
    if (ca !== this.#ca) this.#trust(ca);
    const known = this.#agents.get(port);
    if (known !== undefined) return known;
    const agent = new Agent({
      connect: {
        lookup: this.#egress.lookup(systemLookup, port),
        timeout: CONNECT_TIMEOUT_MS,
        ...(this.#ca !== undefined && { ca: [...rootCertificates, this.#ca] }),
      },
      connections: 8,
      maxHeaderSize: HEAD_BYTES_MAX,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    this.#agents.set(port, agent);
    return agent;
  }

  /** Requests under way end on their own connections. */
  #trust(ca: string | undefined): void {
    this.#ca = ca;
    for (const agent of this.#agents.values()) void agent.close().catch(() => undefined);
    this.#agents.clear();
  }
}

async function boundedText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > RESPONSE_BYTES_MAX)
      throw new DirectoryUnavailable(`its answer is larger than ${RESPONSE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Text from the network for a message: bounded, in one line. */
export function shown(text: string): string {
  const [plain, max] = [text.replace(/[^\x20-\x7e]+/g, ' '), 300];
  return plain.length > max ? `${plain.slice(0, max)}…` : plain;
}
