/** What the program needs before it knows what it is to do: one file of a bundle (scripts/build.ts). */
export { EXIT_CODES } from './exit-codes.ts';
export { runUntilSignal } from './serve.ts';
export { createServiceManager, isJournal } from './service-manager.ts';
export { holdFiles } from '../control/threads/held-files.ts';
export { programUrl } from '../control/threads/program-url.ts';
export { programVersion } from '../control/threads/program-version.ts';
export { waitingWorkers } from '../control/threads/waiting-thread.ts';
export { systemClock } from '../lib/clock.ts';
export { readSettings } from '../settings/settings.ts';
