/** A plan: what it would change, what the recent requests would get, and the button that applies it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { call } from '../../api/call.ts';
import { useMay } from '../../page/session.ts';
import { editWords as say } from '../../text/edit.ts';
import { Button } from '../../ui/controls/button.tsx';
import { CopyButton } from '../../ui/controls/copy-button.tsx';
import { CheckField, TextField } from '../../ui/controls/field.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { ErrorNote, Loaded, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import type { Fields } from '../save/merge-patch.ts';
import type { ListedChange } from '../../api/schema.ts';
import type { PlanAnswer, PlannedChange } from '../save/plan-types.ts';
import { TrafficGroups } from '../save/traffic-groups.tsx';
import { WarningsNote } from '../save/warnings-note.tsx';
import styles from './policies.module.css';

export interface Planned {
  /** The text that was planned. */
  readonly text: string;
  readonly body: { readonly config: Fields; readonly adopt: boolean; readonly max_deletes: number };
  readonly plan: PlanAnswer;
}

interface ConfigPlanProps {
  readonly app: string;
  readonly planned: Planned;
  readonly onPlanAgain: () => void;
  readonly onApplied: () => void;
}

export function ConfigPlan({ app, planned, onPlanAgain, onApplied }: ConfigPlanProps): ReactNode {
  const { plan } = planned;
  const { create, update, delete: deleted } = plan.totals;
  const [mayDelete, setMayDelete] = useState(false);
  const [message, setMessage] = useState('');
  const mayApply = useMay('editor');
  const apply = useApply(planned, message, onApplied);
  const isMoved = apply.error instanceof ApiError && apply.error.status === 409;
  const isEmpty = plan.changes.length === 0;
  const keys = apply.data?.created_keys ?? [];
  return (
    <Panel title={say.planTitle}>
      <div className={styles['parts']}>
        <Note tone={isEmpty ? 'neutral' : deleted > 0 ? 'warn' : 'info'}>
          {isEmpty ? say.noChange : say.totals(create, update, deleted)}
        </Note>
        <WarningsNote warnings={plan.warnings} />
        <Changes changes={plan.changes} total={create + update + deleted} />
        {plan.traffic !== null && plan.traffic !== undefined && <TrafficGroups traffic={plan.traffic} />}
        <CommandLine app={app} />
        {!mayApply && <Note tone="neutral">{say.mayNotApply}</Note>}
        {mayApply && !isEmpty && !apply.isSuccess && (
          <>
            <TextField label={say.why} value={message} onValue={setMessage} maxLength={300} />
            {deleted > 0 && (
              <CheckField label={say.mayDelete(deleted)} checked={mayDelete} onChecked={setMayDelete} />
            )}
            <div className={styles['actions']}>
              <Button
                look="main"
                isBusy={apply.isPending}
                disabled={(deleted > 0 && !mayDelete) || isMoved}
                onClick={() => apply.mutate()}
              >
                {say.apply}
              </Button>
              {isMoved && <Button onClick={onPlanAgain}>{say.planAgain}</Button>}
            </div>
          </>
        )}
        {apply.error !== null && <ErrorNote error={apply.error} />}
        {isMoved && <Since app={app} version={plan.base_version} />}
        {keys.length > 0 && <CreatedKeys keys={keys} />}
      </div>
    </Panel>
  );
}

function useApply({ body, plan }: Planned, message: string, onApplied: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async (): Promise<PlanAnswer> => {
      const { body: answer } = await call('POST /config/apply', {
        body: { ...body, base_version: plan.base_version, ...(message !== '' && { message }) },
      });
      return answer.data;
    },
    onSuccess: () => {
      onApplied();
      showToast({ title: say.applied });
    },
    onSettled: () => client.invalidateQueries(),
  });
}

interface ChangesProps {
  readonly changes: readonly PlannedChange[];
  readonly total: number;
}

const TONES = { create: 'good', update: 'info', delete: 'bad' } as const;

function Changes({ changes, total }: ChangesProps): ReactNode {
  const more = total - changes.reduce((sum, { below = 0 }) => sum + 1 + below, 0);
  return (
    <ul className={styles['changes-list']}>
      {changes.map(({ change, type, path, fields, below = 0 }) => (
        <li key={`${type} ${path.join('/')}`}>
          <div className={styles['state']}>
            <Badge tone={TONES[change]}>{say.kinds[change]}</Badge>
            <span>
              {type} <strong>{path.join(' / ')}</strong> {below > 0 && say.below(below)}
            </span>
          </div>
          {change === 'update' && (
            <ul className={styles['changes-list']}>
              {Object.entries(fields).map(([name, { before, after }]) => (
                <li key={name} className={styles['change']}>
                  <code>{name}</code> <del>{valueText(before)}</del> <ins>{valueText(after)}</ins>
                </li>
              ))}
            </ul>
          )}
        </li>
      ))}
      {more > 0 && <li>{say.andMore(more)}</li>}
    </ul>
  );
}

function valueText(value: unknown): string {
  return value === null ? say.default : JSON.stringify(value);
}

/** What others changed since the plan was made. */
function Since({ app, version }: { readonly app: string; readonly version: number }): ReactNode {
  const since = useQuery({
    queryKey: ['since', version, app],
    queryFn: () =>
      call('GET /config/versions/diff', { query: { from: version, app: app === '' ? undefined : app } }),
    gcTime: 0,
  });
  return (
    <Loaded query={since}>
      {({ body }) => (
        <section className={styles['parts']} aria-label={say.whatChanged}>
          <h3>{say.whatChanged}</h3>
          <Changes changes={body.data.changes.map(asPlanned)} total={body.data.changes.length} />
        </section>
      )}
    </Loaded>
  );
}

/** The fields of a difference, as those of a plan. */
function asPlanned(listed: ListedChange): PlannedChange {
  return { ...listed, fields: listed.fields as PlannedChange['fields'] };
}

function CommandLine({ app }: { readonly app: string }): ReactNode {
  const file = `${app === '' ? 'gateway' : app}.yaml`;
  const command = `headgate config apply ${file}`;
  return (
    <details>
      <summary>{say.command}</summary>
      <p className={styles['hint']}>{say.commandHint}</p>
      <div className={styles['state']}>
        <code>{command}</code>
        <CopyButton text={command} />
      </div>
    </details>
  );
}

function CreatedKeys({ keys }: { readonly keys: NonNullable<PlanAnswer['created_keys']> }): ReactNode {
  return (
    <Note tone="good">
      <strong>{say.createdKeys}</strong>
      {keys.map(({ app, name, token }) => (
        <div key={`${app} ${name}`} className={styles['state']}>
          <span>
            {app} / {name}
          </span>
          <code>{token}</code>
          <CopyButton text={token} />
        </div>
      ))}
    </Note>
  );
}
