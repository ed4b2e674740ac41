/** Gives a key a new value, with a time in which the old one still works. */
import { useState, type ReactNode } from 'react';
import type { Answer } from '../../api/call.ts';
import { useWrite } from '../../api/queries.ts';
import type { TokenEnvelope } from '../../api/schema.ts';
import { keysWords } from '../../text/keys.ts';
import { words } from '../../text/words.ts';
import { Button } from '../../ui/controls/button.tsx';
import { SelectField } from '../../ui/controls/field.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Time } from '../../ui/display/time.tsx';
import { Dialog } from '../../ui/overlay/dialog.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import { ShownOnce } from './shown-once.tsx';

const OPERATION = 'POST /apps/{app_id}/tokens/{token_id}/rotate';

interface RotateKeyProps {
  readonly app: string;
  readonly answer: Answer<TokenEnvelope>;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const OVERLAPS = (['0', '3600', '86400', '604800', '2592000'] as const).map((value) => ({
  value,
  label: keysWords.overlaps[value],
}));
const DEFAULT_OVERLAP = '86400';

interface Rotated {
  readonly value: string;
  /** Until when the old value works; undefined: it has stopped. */
  readonly oldUntilMs: number | undefined;
}

export function RotateKey({ app, answer, isOpen, onClose }: RotateKeyProps): ReactNode {
  const { id, name } = answer.body.data;
  const [overlap, setOverlap] = useState<string>(DEFAULT_OVERLAP);
  const [rotated, setRotated] = useState<Rotated>();
  const rotation = useWrite(OPERATION);
  const overlapSecs = Number(overlap);
  const call = {
    path: { app_id: app, token_id: id },
    body: { overlap_secs: overlapSecs },
    ifMatch: answer.etag,
  };
  const rotate = async (): Promise<void> => {
    const { body } = await rotation.mutateAsync(call);
    const { token, updated_at: at } = body.data;
    setRotated({
      value: token,
      oldUntilMs: overlapSecs === 0 ? undefined : Date.parse(at) + overlapSecs * 1_000,
    });
    onClose();
  };
  return (
    <>
      <Dialog
        isOpen={isOpen}
        onClose={onClose}
        keepsOpen
        title={keysWords.rotateTitle(name)}
        actions={
          <>
            <Button onClick={onClose}>{words.cancel}</Button>
            <Button
              look="main"
              isBusy={rotation.isPending}
              // Its error is shown below.
              onClick={() => void rotate().catch(() => undefined)}
            >
              {keysWords.rotate}
            </Button>
          </>
        }
      >
        <p>{keysWords.rotateText}</p>
        <SelectField label={keysWords.overlap} value={overlap} choices={OVERLAPS} onValue={setOverlap} />
        <Note tone="neutral">{keysWords.rotateTwice}</Note>
        <Note tone="neutral">{keysWords.rotateUntried}</Note>
        <SameChange operation={OPERATION} options={call} />
        {rotation.error !== null && <ErrorNote error={rotation.error} />}
      </Dialog>
      <ShownOnce
        value={rotated?.value}
        name={name}
        onStored={() => {
          setRotated(undefined);
          rotation.reset();
        }}
      >
        <p>
          {rotated?.oldUntilMs === undefined ? (
            keysWords.oldStopped
          ) : (
            <>
              {keysWords.oldUntil} <Time at={rotated.oldUntilMs} />.
            </>
          )}
        </p>
      </ShownOnce>
    </>
  );
}
