/**
 * Makes a proxy worker of a started gateway die of an uncaught exception, as a defect would, or of memory used up,
 * or turn for ever, through Node's inspector. The gateway must have been started with `INSPECTABLE` in its environment.
 */
import type { TestGateway } from '../gateway.ts';
import { Inspector, INSPECTABLE } from './inspector.ts';
import { until } from '../measure/until.ts';

const MISHAPS = {
  exception: "setImmediate(() => { throw new Error('crashed by a test'); })",
  'out of memory':
    'setImmediate(() => { const all = []; for (;;) all.push(new Array(1e6).fill(all.length)); })',
  'endless loop': 'setImmediate(() => { for (;;); })',
} as const;
export type Mishap = keyof typeof MISHAPS;

/** INSPECTABLE, and so little memory for each thread that a worker soon has used it up. */
export const LITTLE_MEMORY = {
  ...INSPECTABLE,
  NODE_OPTIONS: `${INSPECTABLE.NODE_OPTIONS} --max-old-space-size=96`,
} as const;

/** An endless loop is noticed by heartbeats, and memory is not used up at once. */
const DIED_MS_MAX = 60_000;

/**
 * Resolves when all of them have died.
 * @param isVictim is given the title of each worker, which ends in its name, for example `proxy-1`
 */
export async function crashWorkers(
  gateway: TestGateway,
  isVictim: (title: string) => boolean,
  mishap: Mishap = 'exception',
): Promise<void> {
  const inspector = await Inspector.open(gateway);
  try {
    const victims = [...inspector.threads].filter(([, title]) => isVictim(title)).map(([thread]) => thread);
    if (victims.length === 0) throw new Error('There is no such worker');
    for (const victim of victims) inspector.run(victim, MISHAPS[mishap]);
    await until(() => !victims.some((victim) => inspector.threads.has(victim)), DIED_MS_MAX);
  } finally {
    inspector.close();
  }
}
