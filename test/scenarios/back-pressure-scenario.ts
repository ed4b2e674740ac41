/** The scenario of back-pressure: streams of 1 GiB against slow readers, for as long as wanted, and what came of it. */
import type * as net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway, WITH_SPARE } from '../support/gateway.ts';
import { download, startStreamBackend, upload, type PacedReader } from '../support/clients/paced-streams.ts';
import { watchMemory } from '../support/measure/process-memory.ts';
import { untilSettled } from '../support/measure/settled-threads.ts';
import { createService } from '../support/traffic.ts';

export const STREAMS = 50;
const STREAM_BYTES = 1024 * 1024 * 1024;
/** Of each reader. */
export const BYTES_PER_SECOND = 1_000_000;
/** Bytes by which each stream has moved, at least. */
export const MOVED_BYTES = 500_000;
const LATE_TURN_MS = 250;
const LATE_TURNS_MAX = 100;
/** 64 KiB each way per stream, and 30 MB. */
export const MEMORY_BYTES_MAX = STREAMS * 2 * 64 * 1024 + 30_000_000;

export interface Delivered {
  /** For which bytes were read. */
  readonly seconds: number;
  readonly memoryGrowthBytes: number;
  /** Bytes that arrived, per stream. */
  readonly received: readonly number[];
  /** Positions of the first wrong byte, of the streams that had one. */
  readonly wrong: readonly number[];
}

export function downloads(durationMs: number): Promise<Delivered> {
  return scenario(durationMs, async (port, sockets) => {
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, () => download(port, '/streams/v1/x', BYTES_PER_SECOND)),
    );
    sockets.push(...streams.map(({ socket }) => socket));
    return streams.map(({ reader }) => reader);
  });
}

export function uploads(durationMs: number): Promise<Delivered> {
  return scenario(durationMs, async (port, sockets, atBackend) => {
    const streams = Array.from({ length: STREAMS }, () => upload(port, '/streams/v1/x', STREAM_BYTES));
    sockets.push(...(await Promise.all(streams)));
    return atBackend;
  });
}

async function scenario(
  durationMs: number,
  start: (port: number, sockets: net.Socket[], atBackend: PacedReader[]) => Promise<PacedReader[]>,
): Promise<Delivered> {
  const backend = await startStreamBackend(STREAM_BYTES, BYTES_PER_SECOND);
  const gateway = await startGateway({ env: WITH_SPARE });
  const sockets: net.Socket[] = [];
  try {
    await createService(gateway, 'streams', backend.port);
    // What the first exchange needs is not what is measured.
    (await download(gateway.proxyPort, '/nowhere', BYTES_PER_SECOND)).socket.destroy();
    await untilSettled(gateway);
    let readers: PacedReader[] = [];
    let seconds = 0;
    const use = await watchMemory(gateway.process.pid ?? 0, async () => {
      readers = await start(gateway.proxyPort, sockets, backend.uploads);
      const startMs = performance.now();
      await pause(durationMs);
      const slowest = (): number => Math.min(...readers.map((reader) => reader.received));
      // A machine with other things to do may not have come to all of them yet.
      for (let n = 0; n < LATE_TURNS_MAX && slowest() < MOVED_BYTES; n++) await pause(LATE_TURN_MS);
      seconds = (performance.now() - startMs) / 1_000;
    });
    return {
      seconds,
      memoryGrowthBytes: use.peakBytes - use.beforeBytes,
      received: readers.map((reader) => reader.received),
      wrong: readers.map((reader) => reader.wrongAt).filter((at) => at >= 0),
    };
  } finally {
    for (const socket of sockets) socket.destroy();
    await gateway.stop();
    await backend.close();
  }
}
