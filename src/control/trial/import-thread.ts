/**
 * Converts OpenAPI descriptions in a thread of their own (import-worker.ts), with limited time and memory: no
 * document can block the main thread.
 */
import { Worker } from 'node:worker_threads';
import { withTimeout } from '../../lib/with-timeout.ts';
import type { Converted, Convert, NotConverted } from '../../management/import/conversion-job.ts';

const CONVERSION_MS_MAX = 15_000;
const MEBIBYTES_MAX = 512;
const TERMINATION_PATIENCE_MS = 2_000;

/** @param url program of the thread @param timeMs time after which the thread is ended */
export function importThreads(url: URL, timeMs = CONVERSION_MS_MAX): Convert {
  return async (job) => {
    const worker = new Worker(url, {
      workerData: job,
      name: 'import',
      // It needs no secrets.
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MEBIBYTES_MAX },
    });
    const { promise, resolve } = Promise.withResolvers<Converted | NotConverted>();
    worker.once('message', resolve);
    worker.once('error', (error) => resolve(notConverted(reasonOf(error))));
    worker.once('exit', () => resolve(notConverted('cannot be converted')));
    try {
      return (await withTimeout(timeMs, promise)) ?? notConverted(`takes longer than ${timeMs / 1000} s`);
    } finally {
      await withTimeout(TERMINATION_PATIENCE_MS, worker.terminate());
    }
  };
}

function reasonOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? `takes more than ${MEBIBYTES_MAX} MiB` : 'cannot be converted';
}

const notConverted = (problem: string): NotConverted => ({
  field: 'document',
  problem: `${problem}: use \`headgate import openapi\`, which converts it outside of the gateway`,
});
