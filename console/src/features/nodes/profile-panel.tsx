/**
 * A CPU profile of the gateway that answers, saved as a file. Heap snapshots need curl or the command line; the
 * panel shows both calls.
 */
import { useState, type FormEvent, type ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import { profileWords as say } from '../../text/profile.ts';
import { Button } from '../../ui/controls/button.tsx';
import { FieldGrid, SelectField, TextField } from '../../ui/controls/field.tsx';
import { ErrorNote } from '../../ui/display/notes.tsx';
import { Panel, Stack } from '../../ui/display/panel.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { SameChange } from '../save/same-change-view.tsx';

const OPERATION = 'POST /profiles';
const THREADS = (['worker', 'main'] as const).map((value) => ({ value, label: say.threads[value] }));

export function ProfilePanel(): ReactNode {
  const [thread, setThread] = useState<'worker' | 'main'>('worker');
  const [seconds, setSeconds] = useState('10');
  const profile = useWrite(OPERATION);
  const options = { body: { kind: 'cpu', thread, seconds: Number(seconds) } } as const;
  const heap = { body: { kind: 'heap', thread, contains_secrets: true } } as const;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    profile.mutate(options, {
      onSuccess: ({ body }) => showToast({ title: say.saved(saveFile(body)) }),
    });
  };
  return (
    <Panel title={say.title}>
      <form onSubmit={submit}>
        <Stack>
          <p>{say.text}</p>
          <FieldGrid>
            <SelectField label={say.thread} value={thread} choices={THREADS} onValue={setThread} />
            <TextField
              label={say.seconds}
              hint={say.secondsHint}
              value={seconds}
              onValue={setSeconds}
              type="number"
              min={1}
              max={60}
              required
            />
          </FieldGrid>
          {profile.error !== null && <ErrorNote error={profile.error} />}
          <div>
            <Button type="submit" isBusy={profile.isPending}>
              {say.make}
            </Button>
          </div>
          {Number(seconds) > 0 && (
            <SameChange
              operation={OPERATION}
              options={options}
              isConfiguration={false}
              file="headgate.cpuprofile"
            />
          )}
          <SameChange
            operation={OPERATION}
            options={heap}
            isConfiguration={false}
            file="headgate.heapsnapshot"
            summary={say.heap}
          />
        </Stack>
      </form>
    </Panel>
  );
}

/** @returns the name of the file, as the API and the command line call it */
function saveFile(profile: object): string {
  const at = new Date().toISOString().slice(0, 19).replaceAll(':', '');
  const link = document.createElement('a');
  link.download = `headgate-${at}.cpuprofile`;
  link.href = URL.createObjectURL(new Blob([JSON.stringify(profile)], { type: 'application/json' }));
  link.click();
  URL.revokeObjectURL(link.href);
  return link.download;
}
