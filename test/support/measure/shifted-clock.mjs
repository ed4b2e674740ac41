/**
 * Loaded before the program in every thread of a gateway (`--import`): shifts its wall clock by the milliseconds that
 * stand in the file named by HEADGATE_TEST_CLOCK, as an operator or a time server would; the monotonic clock stays.
 * Each thread writes the shift that it goes by into a file of its own beside that, `<name>.of-<thread>`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';

const path = process.env['HEADGATE_TEST_CLOCK'];
const now = Date.now.bind(Date);
let shiftMs;
const look = () => {
  const nextMs = Number(readFileSync(path, 'latin1')) || 0;
  if (nextMs === shiftMs) return;
  shiftMs = nextMs;
  writeFileSync(`${path}.of-${threadId}`, String(shiftMs));
};
look();
setInterval(look, 10).unref();
Date.now = () => now() + shiftMs;
