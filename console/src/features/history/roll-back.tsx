/**
 * A rollback to a version: first shows what would change and which keys would not be restored exactly, then does
 * it.
 */
import { useQueryClient, type UseQueryResult } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { call, type Answer } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import type { Rollback, RollbackEnvelope } from '../../api/schema.ts';
import { historyWords } from '../../text/history.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CheckField, TextField } from '../../ui/controls/field.tsx';
import { ErrorNote, Loaded, Note } from '../../ui/display/notes.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import { WarningsNote } from '../save/warnings-note.tsx';
import { ChangeList, shownListed } from './change-list.tsx';
import { Totals } from './difference.tsx';
import { TrafficOfVersion } from './traffic-of-version.tsx';
import styles from './history.module.css';

const OPERATION = 'POST /config/versions/{config_version}/rollback';

/** What a rollback to a version would change now. */
export function useRollBackPlan(
  version: number,
  chosen: { readonly delete_keys?: true },
  isWanted = true,
): UseQueryResult<Answer<RollbackEnvelope>> {
  const path = { config_version: String(version) };
  return useRead(OPERATION, { path, body: { dry_run: true, ...chosen } }, { enabled: isWanted });
}

interface RollBackProps {
  readonly version: number;
  readonly onClose: () => void;
}

export function RollBack({ version, onClose }: RollBackProps): ReactNode {
  const [deletesKeys, setDeletesKeys] = useState(false);
  const [message, setMessage] = useState('');
  const path = { config_version: String(version) };
  const chosen = deletesKeys ? { delete_keys: true as const } : {};
  const plan = useRollBackPlan(version, chosen);
  const { apply, isBusy, error } = useRollBack(version, onClose);
  const found = plan.data?.body.data;
  const body = {
    ...chosen,
    ...(found !== undefined && { base_version: found.base_version }),
    ...(message.trim() !== '' && { message: message.trim() }),
  };
  return (
    <Dialog
      isOpen
      isWide
      isSteady
      keepsOpen
      onClose={onClose}
      title={historyWords.rollBackTitle(version)}
      summary={historyWords.rollBackText}
      actions={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button
            look="main"
            isBusy={isBusy || plan.isFetching}
            disabled={plan.isError || found === undefined || found.changes.length === 0}
            onClick={() => void apply(body)}
          >
            {historyWords.rollBackNow}
          </Button>
        </>
      }
    >
      <CheckField
        label={historyWords.deleteKeys}
        hint={historyWords.deleteKeysHint}
        checked={deletesKeys}
        onChecked={setDeletesKeys}
      />
      <Loaded query={plan}>{() => found !== undefined && <Plan plan={found} />}</Loaded>
      <WarningsNote warnings={plan.data?.body.warnings} />
      {(found?.changes.length ?? 0) > 0 && <TrafficOfVersion version={version} deletesKeys={deletesKeys} />}
      <TextField label={historyWords.message} value={message} onValue={setMessage} maxLength={300} />
      <SameChange operation={OPERATION} options={{ path, body }} />
      {error !== undefined && <ErrorNote error={error} />}
    </Dialog>
  );
}

interface RollBackState {
  readonly apply: (body: object) => Promise<void>;
  readonly isBusy: boolean;
  readonly error: Error | undefined;
}

function useRollBack(version: number, onDone: () => void): RollBackState {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const client = useQueryClient();
  const apply = async (body: object): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await call(OPERATION, { path: { config_version: String(version) }, body });
      showToast({ title: historyWords.rolledBack(version) });
      onDone();
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
    // Also after a refusal: another write may have come first, and a new plan is needed.
    await client.invalidateQueries();
  };
  return { apply, isBusy, error };
}

function Plan({ plan }: { readonly plan: Rollback }): ReactNode {
  const { changes, totals, not_restored: kept, not_restored_total: keptTotal } = plan;
  return (
    <>
      {changes.length === 0 ? (
        <Note tone="neutral">{historyWords.nothingToDo}</Note>
      ) : (
        <div className={styles['scroll']} tabIndex={0} role="region" aria-label={historyWords.recordsChanged}>
          <Totals totals={totals} listed={changes.length} />
          <ChangeList changes={changes.map(shownListed)} />
        </div>
      )}
      {kept.length > 0 && (
        <Note tone="warn">
          <div>{historyWords.notRestored(keptTotal)}</div>
          <ul className={styles['kept']}>
            {kept.map(({ app, key, id, reasons }) => (
              <li key={id}>
                <strong>
                  {app} / {key}
                </strong>{' '}
                {reasons.map((reason) => historyWords.reasons[reason]).join(', ')}
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  );
}
