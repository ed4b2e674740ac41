/** Sends a real request through the gateway, with and without a key, and keeps the last answer of each kind. */
import { useState, type ReactNode } from 'react';
import { call } from '../../api/call.ts';
import type { TryOutcome } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { startWords, tryWords } from '../../text/start.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FieldGrid, TextField } from '../../ui/controls/field.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Columns, Panel, Stack } from '../../ui/display/panel.tsx';
import { OutcomePanel, type RevisionParams } from './outcome-panel.tsx';
import styles from './start.module.css';

interface Sent {
  readonly outcome: TryOutcome;
  readonly sentKey: string;
}

type SentWith = 'key' | 'nothing';

interface TestRequestProps {
  readonly path: string;
  readonly isKeyed: boolean;
  readonly keyValue: string;
  readonly backend: string;
  readonly revision: RevisionParams;
}

export function TestRequest({
  path: proposed,
  isKeyed,
  keyValue,
  backend,
  revision,
}: TestRequestProps): ReactNode {
  const [path, setPath] = useState(proposed);
  const [key, setKey] = useState(keyValue);
  const [outcomes, setOutcomes] = useState<Partial<Record<SentWith, Sent>>>({});
  const [error, setError] = useState<Error>();
  const [busy, setBusy] = useState<SentWith>();
  const maySend = useMay('editor');
  if (!maySend) return <Note>{startWords.viewer}</Note>;
  const send = async (kind: SentWith): Promise<void> => {
    setBusy(kind);
    setError(undefined);
    try {
      const sentKey = kind === 'key' ? key.trim() : '';
      const headers = sentKey === '' ? [] : [['Authorization', `Bearer ${sentKey}`]];
      const { body } = await call('POST /try', {
        body: { method: 'GET', path, host: window.location.hostname, headers },
      });
      setOutcomes((before) => ({ ...before, [kind]: { outcome: body.data, sentKey } }));
    } catch (cause) {
      setError(cause as Error);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <Stack>
      <Panel title={tryWords.test}>
        <div className={styles['form']}>
          <p>{tryWords.testSummary}</p>
          <FieldGrid>
            <TextField label={tryWords.path} isMono value={path} onValue={setPath} />
            {isKeyed && (
              <TextField
                label={tryWords.keyField}
                isMono
                hint={keyValue === '' ? tryWords.keyFieldHint : undefined}
                value={key}
                onValue={setKey}
              />
            )}
          </FieldGrid>
          <Buttons
            isKeyed={isKeyed}
            hasKey={key.trim() !== ''}
            busy={busy}
            onSend={(kind) => void send(kind)}
          />
          {error !== undefined && <ErrorNote error={error} />}
        </div>
      </Panel>
      <div aria-live="polite">
        <Columns>
          {(['key', 'nothing'] as const).map((kind) => {
            const sent = outcomes[kind];
            return (
              sent !== undefined && (
                <OutcomePanel key={kind} {...sent} {...{ backend, revision, isKeyed }} sentWith={kind} />
              )
            );
          })}
        </Columns>
      </div>
    </Stack>
  );
}

interface ButtonsProps {
  readonly isKeyed: boolean;
  readonly hasKey: boolean;
  readonly busy: SentWith | undefined;
  readonly onSend: (kind: SentWith) => void;
}

function Buttons({ isKeyed, hasKey, busy, onSend }: ButtonsProps): ReactNode {
  if (!isKeyed) {
    return (
      <div>
        <Button look="main" isBusy={busy !== undefined} onClick={() => onSend('nothing')}>
          {tryWords.send}
        </Button>
      </div>
    );
  }
  return (
    <div className={styles['buttons']}>
      <Button
        look="main"
        isBusy={busy === 'key'}
        disabled={!hasKey || busy === 'nothing'}
        onClick={() => onSend('key')}
      >
        {tryWords.sendWithKey}
      </Button>
      <Button isBusy={busy === 'nothing'} disabled={busy === 'key'} onClick={() => onSend('nothing')}>
        {tryWords.sendWithoutKey}
      </Button>
    </div>
  );
}
