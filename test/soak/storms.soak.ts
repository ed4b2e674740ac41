/**
 * Storms against the pool (see test/scenarios/storm-scenario.ts), one after the other, each from another seed: five
 * minutes over plain TCP and five over TLS. STORM_SECONDS=n makes it n seconds each, STORM_SEED=n begins with a seed.
 */
import { expect, it } from 'vitest';
import { CALM, storm } from '../scenarios/storm-scenario.ts';

const SECONDS = Number(process.env['STORM_SECONDS'] ?? 300);
const SEED = Number(process.env['STORM_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

it.each([
  ['plain TCP', false],
  ['TLS', true],
])(
  'holds through storms over %s',
  async (name, secure) => {
    const endMs = performance.now() + SECONDS * 1_000;
    let seed = SEED;
    do {
      // The seed is among what is compared, so that a failure names it.
      expect({ seed, ...(await storm(seed, secure)) }).toEqual({ seed, ...CALM });
      seed += 1;
    } while (performance.now() < endMs);
    process.stdout.write(`${name}: ${seed - SEED} storms from seed ${SEED}\n`);
  },
  SECONDS * 1_000 + 60_000,
);
