/** Changes of records for people: the kind of change, the record, and each field before and after. */
import { useState, type ReactNode } from 'react';
import type { ListedChange, RecordChange } from '../../api/schema.ts';
import { historyWords } from '../../text/history.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { listedDifferences, recordDifferences, type FieldDifference } from './field-differences.ts';
import styles from './history.module.css';

export interface ShownChange {
  readonly key: string;
  readonly change: 'create' | 'update' | 'delete';
  readonly type: string;
  readonly path: readonly string[];
  /** Records below a deleted one. */
  readonly below?: number | undefined;
  readonly fields: readonly FieldDifference[];
}

export function shownListed(change: ListedChange, index: number): ShownChange {
  const { fields, ...rest } = change;
  return { ...rest, key: String(index), fields: listedDifferences(fields) };
}

export function shownRecord({ id, before, after, ...rest }: RecordChange): ShownChange {
  return { ...rest, key: id, fields: recordDifferences(before, after) };
}

const TONES: Readonly<Record<ShownChange['change'], Tone>> = {
  create: 'good',
  update: 'info',
  delete: 'bad',
};
/** The number of changes shown at first. */
const CHANGES_FIRST = 50;
const FOLDED_CHARS = 200;

export function ChangeList({ changes }: { readonly changes: readonly ShownChange[] }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? changes : changes.slice(0, CHANGES_FIRST);
  return (
    <>
      <ul className={styles['changes']}>
        {shown.map((change) => (
          <li key={change.key}>
            <div className={styles['subject']}>
              <Badge tone={TONES[change.change]}>{historyWords.changes[change.change]}</Badge>
              <span className={styles['soft']}>{typeText(change.type)}</span>
              <strong>{change.path.join(' / ')}</strong>
              {change.below !== undefined && change.below > 0 && (
                <span className={styles['soft']}>{historyWords.below(change.below)}</span>
              )}
            </div>
            {change.fields.length > 0 && <FieldList change={change.change} fields={change.fields} />}
          </li>
        ))}
      </ul>
      {shown.length < changes.length && (
        <div className={styles['more']}>
          <Button onClick={() => setWhole(true)}>{historyWords.showAll(changes.length)}</Button>
        </div>
      )}
    </>
  );
}

function FieldList({ change, fields }: Pick<ShownChange, 'change' | 'fields'>): ReactNode {
  return (
    <dl className={styles['fields']}>
      {fields.map((field) => (
        <div key={field.name}>
          <dt>{field.name}</dt>
          <dd>
            {change !== 'create' && <Side kind="before" text={field.before} />}
            {change !== 'delete' && <Side kind="after" text={field.after} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface SideProps {
  readonly kind: 'before' | 'after';
  readonly text: string | undefined;
}

function Side({ kind, text }: SideProps): ReactNode {
  return (
    <div className={styles[kind]}>
      <span aria-hidden="true">{kind === 'before' ? '−' : '+'}</span>
      <span className="visually-hidden">{historyWords[kind]} </span>
      {text === undefined ? (
        <span className={styles['unset']}>{historyWords.notSet}</span>
      ) : (
        <LongText text={text} />
      )}
    </div>
  );
}

/** Long texts, such as certificates, are folded. */
function LongText({ text }: { readonly text: string }): ReactNode {
  if (text.length <= FOLDED_CHARS && !text.includes('\n')) return <code>{text}</code>;
  return (
    <details>
      <summary>{historyWords.longText(text.length)}</summary>
      <pre>{text}</pre>
    </details>
  );
}

function typeText(type: string): string {
  return (historyWords.types as Readonly<Record<string, string>>)[type] ?? type;
}
