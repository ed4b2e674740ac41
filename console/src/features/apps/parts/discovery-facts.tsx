/** What this gateway has found for a revision with discovery. */
import type { ReactNode } from 'react';
import type { DiscoveryHealth } from '../../../api/schema.ts';
import { discoveryWords as say } from '../../../text/apps.ts';
import { words } from '../../../text/words.ts';
import { KeyValues, row } from '../../../ui/display/key-values.tsx';
import { Time } from '../../../ui/display/time.tsx';

export function DiscoveryFacts({ discovery }: { readonly discovery: DiscoveryHealth }): ReactNode {
  const { source, targets, looked_at, changed_at, stale_since, error, doubted, left_out, notes } = discovery;
  const at = (time: string | null): ReactNode =>
    time === null ? words.none : <Time key={time} at={time} relative="ago" />;
  return (
    <KeyValues
      rows={[
        [say.source, <code key="source">{source}</code>],
        [say.found, targets === 0 ? say.noneYet : say.foundCount(targets)],
        [say.lookedAt, at(looked_at)],
        [say.changedAt, at(changed_at)],
        ...(stale_since === null
          ? []
          : [
              row(
                say.stale,
                <span key="stale">
                  {at(stale_since)}: {error}
                </span>,
              ),
            ]),
        ...(doubted === null ? [] : [row(say.doubt, say.doubted(doubted))]),
        ...(left_out === 0 ? [] : [row(say.leftOut, left_out.toLocaleString('en'))]),
        ...(notes.length === 0 ? [] : [row(say.notes, notes.join('; '))]),
      ]}
    />
  );
}
