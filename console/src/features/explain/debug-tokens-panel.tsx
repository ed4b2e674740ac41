/** Debug tokens: created here and shown once, and revoked. Only admins see them. */
import { useState, type FormEvent, type ReactNode } from 'react';
import { useRead, useWrite } from '../../api/queries.ts';
import type { DebugToken } from '../../api/schema.ts';
import { setupWords as say } from '../../text/explain-setup.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FieldGrid } from '../../ui/controls/field.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Refusal } from '../keys/refusal.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import { ConfirmedWrite } from '../save/confirmed-write.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import {
  appOf,
  isDuration,
  ScopeFields,
  secondsOf,
  SETUP_POINTERS,
  useAppName,
  type Scope,
} from './setup-parts.tsx';
import styles from './explain.module.css';

const CREATION = 'POST /explain/debug-tokens';
const EVERY_MS = 5_000;

export function DebugTokensPanel(): ReactNode {
  const tokens = useRead('GET /explain/debug-tokens', {}, { everyMs: EVERY_MS });
  return (
    <Panel title={say.tokens}>
      <div className={styles['facts']}>
        <p>{say.tokensText}</p>
        <Loaded query={tokens}>
          {({ body: { data } }) => (
            <DataTable
              caption={say.tokens}
              columns={COLUMNS}
              rows={data}
              keyOf={({ id }) => id}
              empty={<p>{say.noTokens}</p>}
            />
          )}
        </Loaded>
        <TokenForm />
      </div>
    </Panel>
  );
}

function TokenForm(): ReactNode {
  const [scope, setScope] = useState<Scope>({ app: '', minutes: '10' });
  const creation = useWrite(CREATION);
  const options = { body: { ...appOf(scope), seconds: secondsOf(scope) } };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    creation.mutate(options);
  };
  return (
    <form className={styles['form']} aria-label={say.createToken} onSubmit={submit}>
      <FieldGrid>
        <ScopeFields scope={scope} onScope={setScope} error={creation.error} />
      </FieldGrid>
      <Refusal error={creation.error ?? undefined} pointers={SETUP_POINTERS} />
      <div className={styles['buttons']}>
        <Button type="submit" isBusy={creation.isPending}>
          {say.createToken}
        </Button>
      </div>
      {isDuration(scope) && <SameChange operation={CREATION} options={options} isConfiguration={false} />}
      <ShownOnce
        value={creation.data?.body.data.token}
        name={say.tokenName}
        use={say.tokenUse}
        onStored={() => creation.reset()}
      />
    </form>
  );
}

const COLUMNS: readonly Column<DebugToken>[] = [
  { head: say.columns.app, isRowHead: true, cell: (token) => <AppName token={token} /> },
  { head: say.columns.created, cell: ({ created_at: at }) => <Time at={at} relative="ago" /> },
  { head: say.columns.expires, cell: ({ expires_at: at }) => <Time at={at} relative="either" /> },
  { head: say.columns.actions, cell: (token) => <Revoke token={token} /> },
];

function AppName({ token }: { readonly token: DebugToken }): ReactNode {
  return useAppName(token.app_id);
}

function Revoke({ token }: { readonly token: DebugToken }): ReactNode {
  const name = useAppName(token.app_id);
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      <Button isSmall look="danger" aria-label={say.revokeOf(name)} onClick={() => setAsked(true)}>
        {say.revoke}
      </Button>
      {isAsked && (
        <ConfirmedWrite
          operation="DELETE /explain/debug-tokens/{debug_token_id}"
          options={{ path: { debug_token_id: token.id } }}
          title={say.revokeTitle(name)}
          action={say.revoke}
          done={say.revoked}
          onClose={() => setAsked(false)}
        >
          {say.revokeText}
        </ConfirmedWrite>
      )}
    </>
  );
}
