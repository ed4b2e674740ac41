/** Checks whether a change of the secret key has been begun and not ended. */
import { counted } from '../../lib/text/counted.ts';
import type { SealedCount, SealedState } from '../../storage/secret-store.ts';
import type { MaybeSealing } from '../../storage/secrets/sealed-config.ts';
import { unreadableFix, unreadableText } from '../database/secret-watch.ts';
import { warning, type Finding } from './finding.ts';

const CHECK = 'secret key';

/** @param counts of the database; undefined if it is not open here */
export function secretKeyChecks(
  { box }: Pick<MaybeSealing, 'box'>,
  counts: readonly SealedCount[] | undefined,
): Finding[] {
  const found: Finding[] = [];
  const keys = box?.keyIds.length ?? 0;
  const [old, plain] = (['other', 'plain'] as const).map((state) => sumOf(counts ?? [], state));
  if (keys > 1) {
    const needed =
      counts === undefined
        ? ''
        : `; ${counted(old ?? 0, 'stored value needs', 'stored values need')} another than the first`;
    found.push(
      warning(
        CHECK,
        `${box?.keyName} has ${keys} keys${needed}`,
        old === 0 && counts !== undefined
          ? 'if the first key is the new one, leave only that; if it is the old one, put the new one first next'
          : 'when every gateway has the new key first, run headgate secrets rekey; then leave only that key',
      ),
    );
  }
  const unreadable = unreadableText(counts ?? []);
  if (unreadable !== undefined)
    found.push(warning(CHECK, unreadable, unreadableFix(box?.keyName ?? 'GATEWAY_SECRET_KEY')));
  if (plain !== undefined && plain > 0) {
    found.push(
      warning(
        CHECK,
        `${counted(plain, 'URL of a webhook is', 'URLs of webhooks are')} stored without encryption, by an older version`,
        'when every gateway on the database has this version, run headgate secrets rekey',
      ),
    );
  }
  return found;
}

function sumOf(counts: readonly SealedCount[], wanted: SealedState): number {
  return counts.reduce((sum, { state, count }) => sum + (state === wanted ? count : 0), 0);
}
