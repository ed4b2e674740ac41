/** Sends the described request through the gateway, and shows what a client would have got. */
import { useState, type ReactNode } from 'react';
import { call } from '../../api/call.ts';
import type { HeaderField, TryOutcome } from '../../api/schema.ts';
import { explainWords } from '../../text/explain.ts';
import { Button } from '../../ui/controls/button.tsx';
import { TextArea } from '../../ui/controls/field.tsx';
import { Badge, statusTone } from '../../ui/display/badge.tsx';
import { Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { formatMs } from '../../ui/display/time.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm.tsx';
import { tryInputOf, type DescribedForm } from './described-request.ts';
import { Headers } from './exchange-facts.tsx';
import styles from './explain.module.css';

/** The limit of the API. */
const CONTENT_CHARS_MAX = 65_536;

interface SendForRealProps {
  readonly form: DescribedForm;
  readonly explained: readonly HeaderField[];
}

export function SendForReal({ form, explained }: SendForRealProps): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const [outcome, setOutcome] = useState<TryOutcome>();
  const [content, setContent] = useState('');
  const send = async (): Promise<void> => {
    const { body } = await call('POST /try', { body: tryInputOf(form, explained, content) });
    setOutcome(body.data);
  };
  return (
    <>
      <Panel title={explainWords.send}>
        <div className={styles['form']}>
          <TextArea
            label={explainWords.content}
            hint={explainWords.contentHint}
            isMono
            rows={3}
            maxLength={CONTENT_CHARS_MAX}
            value={content}
            onValue={setContent}
          />
          <div className={styles['buttons']}>
            <Button onClick={() => setAsking(true)}>{explainWords.send}</Button>
            <span className={styles['soft']}>{explainWords.sendWarning}</span>
          </div>
        </div>
      </Panel>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={explainWords.sendTitle(form.method)}
        action={explainWords.send}
        onConfirm={send}
      >
        {explainWords.sendWarning}
      </ConfirmDialog>
      {outcome !== undefined && <Answer outcome={outcome} />}
    </>
  );
}

function Answer({ outcome }: { readonly outcome: TryOutcome }): ReactNode {
  const { status, headers, body, denial } = outcome;
  const fields = headers.map(([name = '', value = '']) => ({ name, value }));
  return (
    <Panel title={explainWords.sent}>
      <div className={styles['facts']}>
        <div role="status">
          <Badge tone={status === null ? 'bad' : statusTone(status)}>{status ?? explainWords.noAnswer}</Badge>
        </div>
        {outcome.problem !== null && <Note tone="bad">{outcome.problem}</Note>}
        {denial !== null && <Note tone="warn">{denial.detail ?? denial.code}</Note>}
        <Headers fields={fields} />
        {outcome.body_encoding === 'base64' && body !== '' && (
          <p className={styles['soft']}>{explainWords.base64}</p>
        )}
        {body === '' ? (
          <p className={styles['soft']}>{explainWords.emptyBody}</p>
        ) : (
          <pre className={styles['text']} tabIndex={0}>
            {body}
          </pre>
        )}
        {outcome.truncated && <p className={styles['soft']}>{explainWords.truncated}</p>}
        <p className={styles['soft']}>
          {explainWords.sentFrom(outcome.client_address ?? '', formatMs(outcome.duration_ms))}
        </p>
      </div>
    </Panel>
  );
}
