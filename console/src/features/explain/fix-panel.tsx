/** The one change that would let a denied request pass, as a button: tried first, then applied. */
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { Fix, FixCall } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { explainWords } from '../../text/explain.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { useSave, type Change } from '../save/save-context.ts';
import { outcomeText, type ExplainSource } from './source.ts';
import styles from './explain.module.css';

const API_PREFIX = '/api/v1';

interface FixPanelProps {
  readonly fix: Fix;
  readonly source: ExplainSource;
  /** A described request is explained again after a change; a recorded one does not change. */
  readonly isRecorded: boolean;
  readonly onApplied: () => void;
}

export function FixPanel({ fix, source, isRecorded, onApplied }: FixPanelProps): ReactNode {
  const save = useSave();
  const [isApplied, setApplied] = useState(false);
  const call = fix.call ?? undefined;
  const mayApply = useMay(call?.role ?? 'editor');
  const apply = async (fixCall: FixCall): Promise<void> => {
    const answer = await save(changeOf(fix, fixCall));
    if (answer === undefined) return;
    setApplied(true);
    onApplied();
  };
  return (
    <Panel title={explainWords.fix}>
      <div className={styles['fix']}>
        <p>{fix.detail}</p>
        {call === undefined && fix.action !== 'wait' && (
          <p className={styles['soft']}>{explainWords.fixByHand}</p>
        )}
        {call !== undefined && (
          <code className={styles['value']}>
            {call.method} {call.path} {call.body === null ? '' : JSON.stringify(call.body)}
          </code>
        )}
        {call !== undefined && mayApply && (
          <Button look="main" disabled={isApplied} onClick={() => void apply(call)}>
            {explainWords.tryFix}
          </Button>
        )}
        {call !== undefined && !mayApply && (
          <p className={styles['soft']}>{explainWords.fixRole(call.role)}</p>
        )}
        {isApplied && isRecorded && <OutcomeNow source={source} />}
      </div>
    </Panel>
  );
}

/** Whether the change was enough: the next denial may be behind the first. */
function OutcomeNow({ source }: { readonly source: ExplainSource }): ReactNode {
  const { data } = useRead('POST /config/explain', { body: source });
  if (data === undefined) return null;
  const { now } = data.body.data;
  const isGood = now.outcome === 'forwarded' || now.outcome === 'answered';
  return (
    <div role="status">
      <Note tone={isGood ? 'good' : 'warn'}>{explainWords.now(outcomeText(now))}</Note>
    </div>
  );
}

function changeOf(fix: Fix, { method, path, body, if_match: ifMatch }: FixCall): Change {
  return {
    title: explainWords.fixTitle,
    action: explainWords.fixAction,
    operation: `${method} ${path.startsWith(API_PREFIX) ? path.slice(API_PREFIX.length) : path}`,
    options: {
      ...(body !== null && { body }),
      ...(ifMatch !== null && { ifMatch }),
    },
    done: `${explainWords.fixDone}: ${fix.detail}`,
  };
}
