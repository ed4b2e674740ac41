/**
 * Finds the key that a value belongs to. Only this form holds the value, which goes to the gateway in the body of a
 * call: not into the address, the storage of the browser or the cache of responses.
 */
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode, type SubmitEvent } from 'react';
import { call } from '../../api/call.ts';
import type { TokenIntrospection } from '../../api/schema.ts';
import { keysWords } from '../../text/keys.ts';
import { words } from '../../text/words.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/field.tsx';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Scopes, StateBadge, TimeOrNever } from './app-keys.tsx';
import { useSwitchKey } from './switch-key.ts';
import styles from './keys.module.css';

export function WhoseKey({ onEnd }: { readonly onEnd: () => void }): ReactNode {
  const [value, setValue] = useState('');
  const [found, setFound] = useState<TokenIntrospection>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const ask = async (): Promise<void> => {
    setBusy(true);
    try {
      const { body } = await call('POST /tokens/introspect', { body: { token: value.trim() } });
      setFound(body.data);
      setError(undefined);
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void ask();
  };
  return (
    <Panel title={keysWords.whose}>
      <form className={styles['form']} onSubmit={submit}>
        <p className={styles['soft']}>{keysWords.whoseText}</p>
        <TextField
          label={keysWords.whoseValue}
          value={value}
          onValue={(text) => {
            setValue(text);
            setFound(undefined);
          }}
          isMono
          autoFocus
          required
        />
        {error !== undefined && <ErrorNote error={error} />}
        <div className={styles['buttons']}>
          <Button look="main" type="submit" isBusy={isBusy} disabled={value.trim() === ''}>
            {keysWords.whoseFind}
          </Button>
          <Button onClick={onEnd}>{words.close}</Button>
        </div>
        <div role="status">{found !== undefined && <Found key={found.id} of={found} onChanged={ask} />}</div>
      </form>
    </Panel>
  );
}

interface FoundProps {
  readonly of: TokenIntrospection;
  readonly onChanged: () => Promise<void>;
}

function Found({ of: found, onChanged }: FoundProps): ReactNode {
  const { id, app_id: appId, app_slug: app = appId, name = '' } = found;
  return (
    <div className={styles['form']}>
      <Note tone={found.active ? 'warn' : 'good'}>
        <strong>{found.active ? keysWords.works : keysWords.refused}</strong>
        {found.reason !== null && <span>{keysWords.reasons[found.reason]}</span>}
        {found.is_current_value === false && <span>{keysWords.isOldValue}</span>}
      </Note>
      {id !== undefined && app !== undefined && (
        <>
          <KeyValues
            rows={[
              row(
                keysWords.name,
                <Link to="/apps/$app/keys/$key" params={{ app, key: id }}>
                  {name}
                </Link>,
              ),
              row(keysWords.app, found.app_name ?? app),
              row(
                keysWords.status,
                <StateBadge
                  of={{ is_active: found.is_active === true, expires_at: found.expires_at ?? null }}
                />,
              ),
              row(keysWords.scopes, <Scopes of={found.scopes ?? []} />),
              row(keysWords.fields.lastUsed, <TimeOrNever at={found.last_used_at ?? null} relative="ago" />),
              ...(found.valid_until === null || found.valid_until === undefined
                ? []
                : [row(keysWords.validUntil, <Time at={found.valid_until} />)]),
            ]}
          />
          <FoundActions
            app={app}
            id={id}
            name={name}
            isActive={found.is_active === true}
            onChanged={onChanged}
          />
        </>
      )}
    </div>
  );
}

interface FoundActionsProps {
  readonly app: string;
  readonly id: string;
  readonly name: string;
  readonly isActive: boolean;
  readonly onChanged: () => Promise<void>;
}

function FoundActions({ app, id, name, isActive, onChanged }: FoundActionsProps): ReactNode {
  const switchKey = useSwitchKey();
  const press = async (): Promise<void> => {
    const answer = await switchKey({ app, id, name, isActive });
    if (answer !== undefined) await onChanged();
  };
  return (
    <div className={styles['buttons']}>
      <Button look={isActive ? 'danger' : 'normal'} onClick={() => void press()}>
        {isActive ? keysWords.disable : keysWords.enable}
      </Button>
      <ButtonLink to="/apps/$app/keys/$key" params={{ app, key: id }} search={{ open: 'rotate' }}>
        {keysWords.rotate}
      </ButtonLink>
    </div>
  );
}
