/** The form that makes an admin token, and its value afterwards. */
import { useState, type ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import { useLeaveQuestion } from '../../page/leave-question.ts';
import type { Role } from '../../page/session.ts';
import { accessWords } from '../../text/access.ts';
import { SelectField, TextField } from '../../ui/controls/field.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { CreationForm } from '../keys/creation-form.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';

const OPERATION = 'POST /admin/tokens';
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

interface Expiry {
  readonly choice: (typeof EXPIRIES)[number]['value'];
  /** Counted from the choice on, so that the time sent is the time shown. */
  readonly at: string | null;
}

function expiryOf(choice: Expiry['choice']): Expiry {
  const at = choice === 'never' ? null : new Date(Date.now() + Number(choice) * DAY_MS).toISOString();
  return { choice, at };
}

export function CreateAdminToken({ onEnd }: { readonly onEnd: () => void }): ReactNode {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [expiry, setExpiry] = useState<Expiry>({ choice: 'never', at: null });
  const creation = useWrite(OPERATION);
  const leave = useLeaveQuestion(name !== '', ['open']);
  const end = (): void => {
    leave.allow();
    onEnd();
  };
  const options = { body: { name: name.trim(), role, expires_at: expiry.at } };
  return (
    <Panel title={accessWords.create}>
      <CreationForm
        error={creation.error}
        pointers={POINTERS}
        isBusy={creation.isPending}
        isComplete={name.trim() !== ''}
        write={{ operation: OPERATION, options }}
        onCreate={() => creation.mutate(options)}
        onCancel={end}
      >
        {(message) => (
          <>
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
              value={expiry.choice}
              choices={EXPIRIES}
              onValue={(choice) => setExpiry(expiryOf(choice))}
            />
          </>
        )}
      </CreationForm>
      <ShownOnce
        value={creation.data?.body.data.token}
        name={name.trim()}
        onStored={() => {
          creation.reset();
          end();
        }}
      />
    </Panel>
  );
}
