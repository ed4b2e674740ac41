/** Two edits of one document beside each other: what each changed, a choice for each field, and a way on with both. */
import { useState, type ReactNode } from 'react';
import { saveWords as say } from '../../text/save.ts';
import { Button } from '../../ui/controls/button.tsx';
import type { Fields } from './merge-patch.ts';
import styles from './save.module.css';
import { differences, keyOf, merged, sideOf, type Difference, type Side } from './three-way.ts';

interface BothSidesProps {
  /** What both began with; undefined: not known, so that each difference is asked about. */
  readonly base: Fields | undefined;
  readonly mine: Fields;
  readonly theirs: Fields;
  readonly onGoOn: (both: Fields) => void;
}

export function BothSides({ base, mine, theirs, onGoOn }: BothSidesProps): ReactNode {
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map());
  const all = differences(base, mine, theirs);
  const found = base === undefined ? all.map((one): Difference => ({ ...one, by: 'both' })) : all;
  const isDecided = found.every((difference) => sideOf(difference, choices) !== undefined);
  return (
    <>
      {found.length > 0 && (
        <div className={styles['scroll']} tabIndex={0} role="region" aria-label={say.bothSides}>
          <table className={styles['sides']}>
            <thead>
              <tr>
                {[say.field, say.read, say.theirs, say.mine].map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {found.map((difference) => (
                <Row
                  key={keyOf(difference)}
                  difference={difference}
                  isBaseKnown={base !== undefined}
                  side={sideOf(difference, choices)}
                  onSide={(side) => setChoices(new Map(choices).set(keyOf(difference), side))}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div>
        <Button look="main" disabled={!isDecided} onClick={() => onGoOn(merged(theirs, found, choices))}>
          {say.goOn}
        </Button>
      </div>
    </>
  );
}

interface RowProps {
  readonly difference: Difference;
  readonly isBaseKnown: boolean;
  readonly side: Side | undefined;
  readonly onSide: (side: Side) => void;
}

function Row({ difference, isBaseKnown, side, onSide }: RowProps): ReactNode {
  const { path, base, mine, theirs, by } = difference;
  const field = path.join('.');
  return (
    <tr>
      <th scope="row">
        <code>{field}</code>
        <div className={styles['soft']}>{isBaseKnown && say.changedBy[by]}</div>
      </th>
      <td data-head={say.read}>{isBaseKnown && <Value value={base} />}</td>
      {(['theirs', 'mine'] as const).map((one) => (
        <td key={one} data-head={say[one]}>
          <label>
            <input
              type="radio"
              name={keyOf(difference)}
              aria-label={say.take(say[one], field)}
              checked={side === one}
              onChange={() => onSide(one)}
            />
            <Value value={one === 'mine' ? mine : theirs} />
          </label>
        </td>
      ))}
    </tr>
  );
}

function Value({ value }: { readonly value: unknown }): ReactNode {
  if (value === undefined) return <span className={styles['soft']}>{say.absent}</span>;
  return <pre>{typeof value === 'string' ? value : JSON.stringify(value, null, 1)}</pre>;
}
