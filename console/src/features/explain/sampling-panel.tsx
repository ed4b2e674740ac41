/** Sampling: served requests are kept for a while, so that they can be explained by their ids. */
import { useState, type FormEvent, type ReactNode } from 'react';
import { fieldMessage } from '../../api/api-error.ts';
import { useRead, useWrite } from '../../api/queries.ts';
import type { Sampling } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { setupWords as say } from '../../text/explain-setup.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FieldGrid, TextField } from '../../ui/controls/field.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Refusal } from '../keys/refusal.tsx';
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

const START = 'PUT /explain/sampling';
const EVERY_MS = 5_000;

export function SamplingPanel(): ReactNode {
  const sampling = useRead('GET /explain/sampling', {}, { everyMs: EVERY_MS });
  const mayChange = useMay('editor');
  return (
    <Panel title={say.sampling}>
      <div className={styles['facts']}>
        <p>{say.samplingText}</p>
        <Loaded query={sampling}>
          {({ body: { data } }) => (
            <>
              <p role="status">{data === null ? say.off : <InForce sampling={data} />}</p>
              {mayChange && <SamplingForm isOn={data !== null} />}
            </>
          )}
        </Loaded>
      </div>
    </Panel>
  );
}

/** As typed: 12.5 is not rounded to 13. */
const percentOf = (rate: number): string => `${Number((rate * 100).toFixed(4))} %`;

function InForce({ sampling }: { readonly sampling: Sampling }): ReactNode {
  const { app_id: appId, rate, until } = sampling;
  const app = useAppName(appId);
  return (
    <>
      {say.on(percentOf(rate), app)} <Time at={until} relative="either" />.
    </>
  );
}

function SamplingForm({ isOn }: { readonly isOn: boolean }): ReactNode {
  const [scope, setScope] = useState<Scope>({ app: '', minutes: '5' });
  const [percent, setPercent] = useState('100');
  const [isStopping, setStopping] = useState(false);
  const start = useWrite(START);
  const options = { body: { ...appOf(scope), rate: Number(percent) / 100, seconds: secondsOf(scope) } };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    start.mutate(options);
  };
  return (
    <form className={styles['form']} aria-label={say.sampling} onSubmit={submit}>
      <FieldGrid>
        <ScopeFields scope={scope} onScope={setScope} error={start.error} />
        <TextField
          label={say.share}
          hint={say.shareHint}
          error={fieldMessage(start.error, '/rate')}
          value={percent}
          onValue={setPercent}
          type="number"
          min={0.1}
          max={100}
          step="any"
          required
        />
      </FieldGrid>
      <Refusal error={start.error ?? undefined} pointers={SETUP_POINTERS} />
      <div className={styles['buttons']}>
        <Button type="submit" isBusy={start.isPending}>
          {isOn ? say.replace : say.start}
        </Button>
        {isOn && <Button onClick={() => setStopping(true)}>{say.stop}</Button>}
      </div>
      {isDuration(scope) && Number(percent) > 0 && (
        <SameChange operation={START} options={options} isConfiguration={false} />
      )}
      {isStopping && (
        <ConfirmedWrite
          operation="DELETE /explain/sampling"
          options={{}}
          title={say.stopTitle}
          action={say.stop}
          look="main"
          done={say.stopped}
          onClose={() => setStopping(false)}
        >
          {say.stopText}
        </ConfirmedWrite>
      )}
    </form>
  );
}
