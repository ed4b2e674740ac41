/** What the gateway warns of in a plan or a dry run: valid, and probably not meant. */
import type { ReactNode } from 'react';
import type { Warning } from '../../api/schema.ts';
import { saveWords as say } from '../../text/save.ts';
import { Note } from '../../ui/display/notes.tsx';

export function WarningsNote({
  warnings = [],
}: {
  readonly warnings: readonly Warning[] | undefined;
}): ReactNode {
  if (warnings.length === 0) return null;
  return (
    <Note tone="warn">
      <strong>{say.warnings}</strong>
      {warnings.map(({ code, pointer, detail }) => (
        <div key={code + pointer}>
          {pointer !== '' && <code>{pointer}</code>} {detail}
        </div>
      ))}
    </Note>
  );
}
