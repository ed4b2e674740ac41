/**
 * The program of a thread that converts one OpenAPI description, and ends. What a document makes it cost in time and
 * memory, it costs this thread, which the main thread ends when that is too much (control/trial/import-thread.ts).
 */
import { parentPort, workerData } from 'node:worker_threads';
import { requireVersion } from './control/threads/program-version.ts';
import { convert } from './management/import/conversion.ts';
import type { ConversionStart } from './management/import/conversion-job.ts';

if (parentPort === null) throw new Error('import-worker.ts runs as a worker thread only');
const { job, version } = workerData as ConversionStart;
requireVersion(import.meta.url, version);
parentPort.postMessage(convert(job));
