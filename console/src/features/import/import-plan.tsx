/** What an import would change, and which parts of the description it cannot import. */
import type { ReactNode } from 'react';
import { importWords } from '../../text/import.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import styles from './import.module.css';
import { fieldTexts, totalOfPlan, type Imported } from './plan-shape.ts';
import type { PlanAnswer, PlannedChange } from '../save/plan-types.ts';
import { WarningsNote } from '../save/warnings-note.tsx';

interface ImportPlanProps {
  readonly imported: Imported;
  readonly plan: PlanAnswer;
  readonly error: Error | undefined;
  readonly isBusy: boolean;
  readonly onApply: () => void;
  readonly onBack: () => void;
  /** The same change as curl, command and YAML. */
  readonly same: ReactNode;
}

export function ImportPlan({
  imported,
  plan,
  error,
  isBusy,
  onApply,
  onBack,
  same,
}: ImportPlanProps): ReactNode {
  const { create, update, delete: deleted } = plan.totals;
  const { traffic } = plan;
  const total = totalOfPlan(plan);
  return (
    <>
      <Panel title={importWords.steps.notes}>
        <NotCarriedOver imported={imported} />
      </Panel>
      <Panel title={importWords.steps.plan} isFlush>
        <div className={styles['plan']}>
          {error !== undefined && <ErrorNote error={error} />}
          <p>{total === 0 ? importWords.nothing : importWords.totals(create, update, deleted)}</p>
          <WarningsNote warnings={plan.warnings} />
          {traffic && traffic.requests > 0 && <p>{importWords.traffic(traffic.changed, traffic.requests)}</p>}
          <div className={styles['actions']}>
            <Button look="main" isBusy={isBusy} disabled={total === 0} onClick={onApply}>
              {importWords.apply}
            </Button>
            <Button disabled={isBusy} onClick={onBack}>
              {importWords.back}
            </Button>
          </div>
          {total > 0 && same}
        </div>
        {total > 0 && <Changes plan={plan} total={total} />}
      </Panel>
    </>
  );
}

function NotCarriedOver({ imported }: { readonly imported: Imported }): ReactNode {
  const { notes, notes_total: total, operations } = imported;
  if (total === 0) return <Note tone="good">{importWords.allCarried(operations)}</Note>;
  return (
    <Note tone="warn">
      <p>{importWords.someNotes(total)}</p>
      <ul className={styles['notes']}>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      {total > notes.length && <p>{importWords.notesHidden(total - notes.length)}</p>}
    </Note>
  );
}

const TONES: Readonly<Record<PlannedChange['change'], Tone>> = {
  create: 'good',
  update: 'warn',
  delete: 'bad',
};

const columns: readonly Column<PlannedChange>[] = [
  {
    head: importWords.columns.change,
    cell: ({ change }) => <Badge tone={TONES[change]}>{importWords.changes[change]}</Badge>,
  },
  { head: importWords.columns.kind, cell: ({ type }) => type },
  { head: importWords.columns.record, isRowHead: true, cell: ({ path }) => path.join(' / ') },
  {
    head: importWords.columns.fields,
    cell: (change) => (
      <ul className={styles['fields']}>
        {fieldTexts(change).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    ),
  },
];

function Changes({ plan, total }: { readonly plan: PlanAnswer; readonly total: number }): ReactNode {
  return (
    <>
      <DataTable
        caption={importWords.planCaption}
        columns={columns}
        rows={plan.changes}
        keyOf={({ type, path }) => `${type} ${path.join('/')}`}
      />
      {total > plan.changes.length && (
        <p className={styles['plan']}>{importWords.changesHidden(total - plan.changes.length)}</p>
      )}
    </>
  );
}
