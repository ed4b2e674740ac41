/**
 * Closes open breakers by asking the backend (design section 2 "Breaker"): while the breaker of a current
 * revision with a `health_check_path` is open, the path is fetched once a second, and any answer below 400
 * closes it. Runs in the main thread, once per node; the breaker's words are shared with the workers.
 */
import { Agent, request } from 'undici';
import type { Clock } from '../kernel/clock.ts';
import type { Revision } from '../model/resources.ts';
import type { Logger } from '../observe/log.ts';
import { Breaker } from '../proxy/breaker.ts';
import type { ConfigState } from './config-state.ts';

const INTERVAL_MS = 1_000;
const TIMEOUT_MS = 2_000;
/** Probes under way at once; with more open breakers than this the rest wait their turn. */
const PROBES_MAX = 64;

export class HealthProbe {
  readonly #state: ConfigState;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #running = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(state: ConfigState, clock: Clock, log: Logger) {
    this.#state = state;
    this.#clock = clock;
    this.#log = log;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    for (const revision of this.#state.probedRevisions()) {
      if (this.#running.size >= PROBES_MAX) return;
      if (this.#running.has(revision.id)) continue;
      const memory = this.#state.breakerOf(revision.id);
      if (memory === undefined) continue;
      const breaker = new Breaker(memory);
      if (breaker.view(this.#clock.nowMs()).state !== 'closed') void this.#probe(revision, breaker);
    }
  }

  async #probe(revision: Revision, breaker: Breaker): Promise<void> {
    this.#running.add(revision.id);
    try {
      if (!(await answers(revision))) return;
      breaker.onProbeSuccess();
      this.#log.info(
        { revision: revision.revision, revision_id: revision.id },
        'the health check of a revision succeeded and its circuit breaker closed',
      );
    } finally {
      this.#running.delete(revision.id);
    }
  }
}

/** Whether the health check gets an answer below 400 in time; every failure is a plain no. */
async function answers(revision: Revision): Promise<boolean> {
  const { backend_scheme: scheme, backend_host: host, backend_port: port, backend_tls: tls } = revision;
  const agent = new Agent({
    connect: {
      timeout: TIMEOUT_MS,
      rejectUnauthorized: tls?.verify ?? true,
      ...(tls?.server_name === undefined ? {} : { servername: tls.server_name }),
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
    },
  });
  try {
    const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
    const { statusCode, body } = await request(
      `${scheme}://${bracketed}:${port}${revision.health_check_path ?? '/'}`,
      {
        dispatcher: agent,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: { 'user-agent': 'headgate-health-check' },
      },
    );
    body.on('error', () => undefined);
    body.destroy();
    return statusCode < 400;
  } catch {
    return false;
  } finally {
    await agent.destroy();
  }
}
