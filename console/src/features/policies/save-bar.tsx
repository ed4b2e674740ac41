/** The unsaved changes, and buttons to save or discard them. */
import type { ReactNode } from 'react';
import type { ApiError } from '../../api/api-error.ts';
import { policyWords } from '../../text/policies.ts';
import { Button } from '../../ui/controls/button.tsx';
import { ErrorNote } from '../../ui/display/notes.tsx';
import { changedParts, type Draft } from './draft.ts';
import styles from './policies.module.css';

interface SaveBarProps {
  readonly draft: Draft;
  readonly problems: number;
  readonly isRestored: boolean;
  readonly refused: ApiError | undefined;
  readonly onDiscard: () => void;
  readonly onSave: () => Promise<void>;
}

export function SaveBar({
  draft,
  problems,
  isRestored,
  refused,
  onDiscard,
  onSave,
}: SaveBarProps): ReactNode {
  const count = changedParts(draft).length;
  return (
    <div className={styles['bar']}>
      {refused !== undefined && <ErrorNote error={refused} />}
      <div className={styles['actions']}>
        <div className={styles['changes']} role="status">
          {isRestored && <span>{policyWords.restored} </span>}
          {draft.problem === undefined ? policyWords.changes(count) : policyWords.yamlBroken(draft.problem)}
          {problems > 0 && ` · ${policyWords.problems(problems)}`}
        </div>
        <Button onClick={onDiscard}>{policyWords.discard}</Button>
        <Button
          look="main"
          disabled={draft.problem !== undefined || count === 0}
          onClick={() => void onSave()}
        >
          {policyWords.save}
        </Button>
      </div>
    </div>
  );
}
