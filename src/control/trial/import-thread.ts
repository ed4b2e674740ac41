/**
 * Converts OpenAPI descriptions in a thread of their own (import-worker.ts), with limited time and memory: no
 * document can block the main thread.
 */
import { Worker } from 'node:worker_threads';
import { systemCode } from '../../lib/error-message.ts';
import { withTimeout } from '../../lib/with-timeout.ts';
import type {
  ConversionStart,
  Converted,
  Convert,
  NotConverted,
} from '../../management/import/conversion-job.ts';
import { threadFailure, type ThreadProgram } from './thread-failure.ts';

const CONVERSION_MS_MAX = 15_000;
const MEBIBYTES_MAX = 512;
const THREAD = 'import';
const TERMINATION_PATIENCE_MS = 2_000;

/** @param timeMs time after which the thread is ended */
export function importThreads(program: ThreadProgram, timeMs = CONVERSION_MS_MAX): Convert {
  return async (job) => {
    const worker = new Worker(program.url, {
      workerData: { job, version: program.version } satisfies ConversionStart,
      name: THREAD,
      // It needs no secrets.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEBIBYTES_MAX },
    });
    const { promise, resolve } = Promise.withResolvers<Converted | NotConverted>();
    worker.once('message', resolve);
    worker.once('error', (error) => resolve(notConverted(reasonOf(error, program))));
    worker.once('exit', () => resolve(notConverted('cannot be converted')));
    try {
      return (await withTimeout(timeMs, promise)) ?? notConverted(`takes longer than ${timeMs / 1000} s`);
    } finally {
      await withTimeout(TERMINATION_PATIENCE_MS, worker.terminate());
    }
  };
}

function reasonOf(error: unknown, program: ThreadProgram): string {
  if (systemCode(error) === 'ERR_WORKER_OUT_OF_MEMORY') return `takes more than ${MEBIBYTES_MAX} MiB`;
  return `cannot be converted, because ${threadFailure(error, THREAD, program)}`;
}

const notConverted = (problem: string): NotConverted => ({
  field: 'document',
  problem: `${problem}. Use \`headgate import openapi\`, which converts it outside of the gateway`,
});
