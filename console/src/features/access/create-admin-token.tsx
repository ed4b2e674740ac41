/** The form that makes an admin token, and its value afterwards. */
import { useState, type ReactNode, type SubmitEvent } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { useWrite } from '../../api/queries.ts';
import type { Role } from '../../page/session.ts';
import { accessWords } from '../../text/access.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Refusal } from '../keys/refusal.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import styles from './access.module.css';

const DAY_MS = 86_400_000;
const POINTERS = ['/name', '/role', '/expires_at'];
const ROLES = (['viewer', 'editor', 'admin'] as const).map((value) => ({
  value,
  label: accessWords.roles[value],
}));
const EXPIRIES = (['never', '1', '30', '90', '365'] as const).map((value) => ({
  value,
  label: accessWords.expiries[value],
}));

export function CreateAdminToken({ onEnd }: { readonly onEnd: () => void }): ReactNode {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [expiry, setExpiry] = useState<(typeof EXPIRIES)[number]['value']>('never');
  const creation = useWrite('POST /admin/tokens');
  const create = (event: SubmitEvent): void => {
    event.preventDefault();
    const expiresAt =
      expiry === 'never' ? null : new Date(Date.now() + Number(expiry) * DAY_MS).toISOString();
    creation.mutate({ body: { name: name.trim(), role, expires_at: expiresAt } });
  };
  const error = creation.error ?? undefined;
  const message = (pointer: string): string | undefined =>
    error instanceof ApiError ? error.fieldMessage(pointer) : undefined;
  return (
    <Panel title={accessWords.create}>
      <form className={styles['form']} onSubmit={create}>
        <div className={styles['fields']}>
          <TextField
            label={accessWords.name}
            hint={accessWords.nameHint}
            error={message('/name')}
            value={name}
            onValue={setName}
            required
            autoFocus
            maxLength={200}
          />
          <SelectField
            label={accessWords.role}
            hint={accessWords.roleTexts[role]}
            error={message('/role')}
            value={role}
            choices={ROLES}
            onValue={setRole}
          />
          <SelectField
            label={accessWords.expiry}
            error={message('/expires_at')}
            value={expiry}
            choices={EXPIRIES}
            onValue={setExpiry}
          />
        </div>
        <Refusal error={error} pointers={POINTERS} />
        <div className={styles['buttons']}>
          <Button look="main" type="submit" isBusy={creation.isPending} disabled={name.trim() === ''}>
            {words.create}
          </Button>
          <Button onClick={onEnd}>{words.cancel}</Button>
        </div>
      </form>
      <ShownOnce
        value={creation.data?.body.data.token}
        name={name.trim()}
        onStored={() => {
          creation.reset();
          onEnd();
        }}
      />
    </Panel>
  );
}
