/** The difference between two versions of the configuration. */
import type { ReactNode } from 'react';
import { useRead } from '../../api/queries.ts';
import type { ConfigDiff } from '../../api/schema.ts';
import { historyWords } from '../../text/history.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { Loaded, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { ChangeList, shownListed } from './change-list.tsx';
import styles from './history.module.css';

interface DifferenceProps {
  readonly from: number;
  readonly to: number;
  readonly onSwap: () => void;
  readonly onClose: () => void;
}

export function Difference({ from, to, onSwap, onClose }: DifferenceProps): ReactNode {
  const difference = useRead('GET /config/versions/diff', { query: { from, to } });
  return (
    <Panel
      title={historyWords.difference(from, to)}
      actions={
        <>
          <Button isSmall onClick={onSwap}>
            {historyWords.swap}
          </Button>
          <Button isSmall onClick={onClose}>
            {words.close}
          </Button>
        </>
      }
    >
      <Loaded query={difference}>{({ body }) => <Found difference={body.data} />}</Loaded>
    </Panel>
  );
}

function Found({ difference }: { readonly difference: ConfigDiff }): ReactNode {
  const { changes, totals, text } = difference;
  if (changes.length === 0) return <Note tone="neutral">{historyWords.sameText}</Note>;
  return (
    <>
      <Totals {...{ totals, listed: changes.length }} />
      <ChangeList changes={changes.map(shownListed)} />
      <details className={styles['text']}>
        <summary>{historyWords.asText}</summary>
        {text === null ? <p>{historyWords.tooLong}</p> : <UnifiedText text={text} />}
      </details>
    </>
  );
}

interface TotalsProps {
  readonly totals: ConfigDiff['totals'];
  readonly listed: number;
}

export function Totals({ totals, listed }: TotalsProps): ReactNode {
  const { create, update, delete: removed } = totals;
  const total = create + update + removed;
  return (
    <p className={styles['soft']}>
      {historyWords.totals(create, update, removed)}
      {listed >= LISTED_MAX && listed < total && `. ${historyWords.firstOnly(listed, total)}`}
    </p>
  );
}

/** The API lists so many changes of one answer. */
const LISTED_MAX = 1_000;

function UnifiedText({ text }: { readonly text: string }): ReactNode {
  return (
    <>
      <pre tabIndex={0}>
        {text.split('\n').map((line, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- lines repeat, and never move
          <span key={index} className={lineClass(line)}>
            {line}
          </span>
        ))}
      </pre>
      <CopyButton text={text} />
    </>
  );
}

function lineClass(line: string): string | undefined {
  if (line.startsWith('+++') || line.startsWith('---')) return undefined;
  return line.startsWith('+') ? styles['added'] : line.startsWith('-') ? styles['removed'] : undefined;
}
