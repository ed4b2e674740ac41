/** The policy of a record, part by part, and a link to its editor. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Policy } from '../../../api/schema.ts';
import { useMay } from '../../../page/session.ts';
import { appsWords } from '../../../text/apps.ts';
import { partText } from '../../save/part-text.ts';

export function PolicySummary({ policy }: { readonly policy: Policy | null }): ReactNode {
  const mayEdit = useMay('editor');
  const parts = Object.entries(policy ?? {}).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return (
    <>
      {parts.map(([part, value]) => (
        <div key={part}>
          <code>{part}</code> {partText(value)}
        </div>
      ))}
      <Link to="." search={{ tab: 'policy' } as never}>
        {mayEdit ? (parts.length === 0 ? appsWords.setPolicy : appsWords.editPolicy) : appsWords.seePolicy}
      </Link>
    </>
  );
}
