/** Flags of Node.js: those with which a checkout starts itself (scripts/start.sh), and those of tests. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * For processes that end before it pays to compile their functions to fast machine code: V8 does that after seven times
 * as many calls as usual. A gateway that answers a few hundred requests takes an eighth less processor time.
 */
export const OPTIMIZE_LATER = [
  '--invocation-count-for-maglev=3000',
  '--invocation-count-for-turbofan=20000',
] as const;

/** @param checkout one without the script, or with an older one, has a flag less */
export function startFlags(checkout: string): readonly string[] {
  const script = join(checkout, 'scripts/start.sh');
  const text = existsSync(script) ? readFileSync(script, 'utf8') : '';
  const [, flags = '--disable-warning=ExperimentalWarning'] =
    /^exec "\$NODE" (--.*) "\$PROGRAM"/m.exec(text) ?? [];
  return flags.split(' ');
}
