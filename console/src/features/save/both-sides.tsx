/** Two edits of one document beside each other: what each changed, a choice for each field, and a way on with both. */
import { useState, type ReactNode } from 'react';
import { saveWords as say } from '../../text/save.ts';
import { Button } from '../../ui/controls/button.tsx';
import type { Fields } from './merge-patch.ts';
import styles from './save.module.css';
import {
  differences,
  keyOf,
  merged,
  sideOf,
  thatCount,
  withDeciders,
  type DecidersOf,
  type Difference,
  type Side,
} from './three-way.ts';

/** How a form shows its fields. */
export interface ShownFields {
  readonly label: (name: string) => string;
  readonly text: (value: unknown) => string;
  readonly decidersOf: DecidersOf;
}

const JSON_FIELDS: ShownFields = {
  label: (name) => name,
  text: (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 1)),
  decidersOf: () => [],
};

interface BothSidesProps {
  /** What both began with; undefined: not known, so that each difference is asked about. */
  readonly base: Fields | undefined;
  readonly mine: Fields;
  readonly theirs: Fields;
  readonly onGoOn: (both: Fields) => void;
  /** Default: names and values as the API has them. */
  readonly shown?: ShownFields | undefined;
}

export function BothSides({ base, mine, theirs, onGoOn, shown = JSON_FIELDS }: BothSidesProps): ReactNode {
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map());
  const all = differences(base, mine, theirs);
  const asked = base === undefined ? all.map((one): Difference => ({ ...one, by: 'both' })) : all;
  const found = thatCount(withDeciders(asked, shown.decidersOf), choices, shown.decidersOf);
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
                  shown={shown}
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
  readonly shown: ShownFields;
  readonly isBaseKnown: boolean;
  readonly side: Side | undefined;
  readonly onSide: (side: Side) => void;
}

function Row({ difference, shown, isBaseKnown, side, onSide }: RowProps): ReactNode {
  const { path, base, mine, theirs, by } = difference;
  const field = shown.label(path.join('.'));
  return (
    <tr>
      <th scope="row">
        <code>{field}</code>
        <div className={styles['soft']}>{isBaseKnown && say.changedBy[by]}</div>
      </th>
      <td data-head={say.read}>{isBaseKnown && <Value value={base} shown={shown} />}</td>
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
            <Value value={one === 'mine' ? mine : theirs} shown={shown} />
          </label>
        </td>
      ))}
    </tr>
  );
}

interface ValueProps {
  readonly value: unknown;
  readonly shown: ShownFields;
}

function Value({ value, shown }: ValueProps): ReactNode {
  const text = value === undefined ? '' : shown.text(value);
  return text === '' ? <span className={styles['soft']}>{say.absent}</span> : <pre>{text}</pre>;
}
