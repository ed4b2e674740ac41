/** Asks for the id of a request that came: the answer to it, and each line of the access log, has it. */
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactNode } from 'react';
import { explainWords } from '../../text/explain.ts';
import { Button, ButtonLink } from '../../ui/controls/button.tsx';
import { TextField } from '../../ui/controls/field.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import styles from './explain.module.css';

interface RecordedFormProps {
  /** The id of the shown request; empty: none. */
  readonly requestId: string;
}

export function RecordedForm({ requestId }: RecordedFormProps): ReactNode {
  const navigate = useNavigate();
  const [typed, setTyped] = useState(requestId);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void navigate({ to: '/explain', search: { request_id: typed.trim() } } as never);
  };
  return (
    <Panel title={explainWords.recorded}>
      <form className={styles['form']} onSubmit={submit}>
        <TextField
          label={explainWords.requestId}
          hint={explainWords.requestIdHint}
          value={typed}
          onValue={setTyped}
          isMono
          maxLength={200}
        />
        <div className={styles['buttons']}>
          <Button type="submit" look={requestId === '' ? 'normal' : 'main'} disabled={typed.trim() === ''}>
            {explainWords.askRecorded}
          </Button>
          {requestId !== '' && <ButtonLink to="/explain">{explainWords.describeInstead}</ButtonLink>}
        </div>
      </form>
    </Panel>
  );
}
