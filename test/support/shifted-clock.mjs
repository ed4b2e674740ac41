/**
 * Loaded before the program in every thread of a gateway (`--import`): shifts its wall clock by the milliseconds that
 * stand in the file named by HEADGATE_TEST_CLOCK, as an operator or a time server would; the monotonic clock stays.
 */
import { readFileSync } from 'node:fs';

const path = process.env['HEADGATE_TEST_CLOCK'];
const now = Date.now.bind(Date);
let shiftMs = 0;
const look = () => {
  shiftMs = Number(readFileSync(path, 'latin1')) || 0;
};
look();
setInterval(look, 10).unref();
Date.now = () => now() + shiftMs;
