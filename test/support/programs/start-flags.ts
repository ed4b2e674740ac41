/** The flags of Node.js with which a checkout starts itself (scripts/start.sh). */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** @param checkout one without the script, or with an older one, has a flag less */
export function startFlags(checkout: string): readonly string[] {
  const script = join(checkout, 'scripts/start.sh');
  const text = existsSync(script) ? readFileSync(script, 'utf8') : '';
  const [, flags = '--disable-warning=ExperimentalWarning'] =
    /^exec "\$NODE" (--.*) "\$PROGRAM"/m.exec(text) ?? [];
  return flags.split(' ');
}
