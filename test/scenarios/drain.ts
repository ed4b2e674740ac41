/** A stop in the middle of the traffic of many clients, at any size, and what became of every exchange. */
import { setTimeout as pause } from 'node:timers/promises';
import { LAST_WORD, runClient, type Kind } from '../support/clients/drain-clients.ts';
import { startGateway } from '../support/gateway.ts';
import { startOrigin } from '../support/backends/origin.ts';
import { createService } from '../support/traffic.ts';
import { until } from '../support/measure/until.ts';

export interface DrainRound {
  readonly isTls: boolean;
  readonly clients: Readonly<Partial<Record<Kind, number>>>;
  /** The longest exchange; they last from nothing to this. */
  readonly exchangeMsMax: number;
  /** Traffic before the stop. */
  readonly beforeMs: number;
}

export interface DrainOutcome {
  readonly exitCode: number | null;
  /** From the signal to the exit. */
  readonly stoppedMs: number;
  /** Exchanges that ended as they should, by the kind of client. */
  readonly done: Readonly<Record<string, number>>;
  /** Of them after the signal. */
  readonly doneAfterSignal: number;
  /** All others but those that were refused before they began. */
  readonly failed: readonly string[];
}

const PIECES = 5;

export async function drainRound(round: DrainRound): Promise<DrainOutcome> {
  const backend = await startOrigin(({ url = '' }, response) => {
    const [, mode, ms] = /\/(wait|drip)\/(\d+)$/.exec(url) ?? [];
    if (mode === 'wait') return void setTimeout(() => response.end(LAST_WORD), Number(ms));
    for (let piece = 1; piece < PIECES; piece++) {
      setTimeout(() => response.write('a piece, '), (Number(ms) / PIECES) * piece);
    }
    setTimeout(() => response.end(LAST_WORD), Number(ms));
  });
  const pem = (name: string): string => new URL(`../support/tls/${name}`, import.meta.url).pathname;
  const tlsEnv = {
    GATEWAY_PROXY__TLS__CERT_FILE: pem('backend.pem'),
    GATEWAY_PROXY__TLS__KEY_FILE: pem('backend-key.pem'),
  };
  const gateway = await startGateway({
    env: { GATEWAY_WORKERS: '2', GATEWAY_LOG__ACCESS: 'false', ...(round.isTls && tlsEnv) },
  });
  const done: Record<string, number> = {};
  const failed: string[] = [];
  let signalledMs = Infinity;
  let doneAfterSignal = 0;
  try {
    await createService(gateway, 'a', backend.port);
    const clients = Object.entries(round.clients).flatMap(([kind, count]) =>
      Array.from({ length: count }, () =>
        runClient(
          kind as Kind,
          { port: gateway.proxyPort, isTls: round.isTls, exchangeMsMax: round.exchangeMsMax },
          (_kind, outcome) => {
            if (outcome === 'refused') return;
            if (outcome !== '200') return void failed.push(`${kind}: ${outcome}`);
            done[kind] = (done[kind] ?? 0) + 1;
            if (performance.now() > signalledMs) doneAfterSignal += 1;
          },
        ),
      ),
    );
    await pause(round.beforeMs);
    // A machine with other things to do may not have come to all of them yet.
    await until(() => Object.values(done).reduce((sum, count) => sum + count, 0) >= clients.length);
    signalledMs = performance.now();
    const exitCode = await gateway.stop();
    const stoppedMs = performance.now() - signalledMs;
    await Promise.all(clients);
    return { exitCode, stoppedMs, done, doneAfterSignal, failed };
  } finally {
    await gateway.kill();
    await backend.close();
  }
}
