/** The events that a webhook did not get: sent again one by one or all at once, or forgotten. */
import { useState, type ReactNode } from 'react';
import { usePages, useWrite } from '../../api/queries.ts';
import type { DeadLetter, DeadLetterCount, Webhook } from '../../api/schema.ts';
import { eventText } from '../../text/events.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { ErrorNote, Loaded } from '../../ui/display/notes.tsx';
import { Panel, QuietPanel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { ConfirmDialog } from '../../ui/overlay/confirm.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { EventSubject } from '../events/event-subject.tsx';
import { SameChange } from '../save/same-change-view.tsx';
import styles from './webhooks.module.css';

const FORGET_ALL = 'DELETE /webhooks/{webhook_id}/dead-letters';
const LOOK_MS = 5_000;

interface LettersProps {
  readonly webhook: Webhook;
  readonly isAdmin: boolean;
  /** The webhook is being deleted. */
  readonly isLeaving: boolean;
}

export function DeadLetters({ webhook, isAdmin, isLeaving }: LettersProps): ReactNode {
  const path = { webhook_id: webhook.id };
  const letters = usePages(
    'GET /webhooks/{webhook_id}/dead-letters',
    { path, query: { limit: 50 } },
    { everyMs: LOOK_MS, enabled: !isLeaving },
  );
  const [isForgetting, setForgetting] = useState(false);
  const resendOne = useWrite('POST /webhooks/{webhook_id}/dead-letters/{event_id}/resend');
  const resendAll = useWrite('POST /webhooks/{webhook_id}/resend');
  const forgetOne = useWrite('DELETE /webhooks/{webhook_id}/dead-letters/{event_id}');
  const forgetAll = useWrite(FORGET_ALL);
  if (letters.data?.items.length === 0) {
    return <QuietPanel title={webhooksWords.deadLetters}>{webhooksWords.noDeadLetters}</QuietPanel>;
  }
  const tell = (made: Promise<{ readonly body: { readonly data: DeadLetterCount } }>): void =>
    void made.then(
      ({ body }) => showToast({ title: webhooksWords.resent(body.data.dead_letters) }),
      // The page shows the error.
      () => undefined,
    );
  const onResend = ({ event }: DeadLetter): void =>
    tell(resendOne.mutateAsync({ path: { ...path, event_id: event.id } }));
  const onForget = ({ event }: DeadLetter): void =>
    forgetOne.mutate(
      { path: { ...path, event_id: event.id } },
      { onSuccess: () => showToast({ title: webhooksWords.forgotten }) },
    );
  const error = resendOne.error ?? resendAll.error ?? forgetOne.error;
  return (
    <Panel
      title={webhooksWords.deadLetters}
      isFlush
      actions={
        isAdmin && (
          <>
            <Button
              isSmall
              isBusy={resendAll.isPending}
              onClick={() => tell(resendAll.mutateAsync({ path }))}
            >
              {webhooksWords.resendAll}
            </Button>
            <Button isSmall look="danger" onClick={() => setForgetting(true)}>
              {webhooksWords.forgetAll}
            </Button>
          </>
        )
      }
    >
      <p className={styles['text']}>{webhooksWords.deadLettersText}</p>
      {error !== null && <ErrorNote error={error} />}
      <Loaded query={letters}>
        {({ items, total }) => (
          <DataTable
            caption={webhooksWords.deadLetters}
            rows={items}
            keyOf={({ event }) => event.id}
            columns={columnsOf(isAdmin ? { onResend, onForget } : undefined)}
            more={{ total, pages: letters }}
          />
        )}
      </Loaded>
      <ConfirmDialog
        isOpen={isForgetting}
        onClose={() => setForgetting(false)}
        title={webhooksWords.forgetTitle(webhook.name)}
        action={webhooksWords.forgetAll}
        below={<SameChange operation={FORGET_ALL} options={{ path }} />}
        onConfirm={async () => {
          await forgetAll.mutateAsync({ path });
          showToast({ title: webhooksWords.forgotten });
        }}
      >
        {webhooksWords.forgetText}
      </ConfirmDialog>
    </Panel>
  );
}

interface LetterDeeds {
  readonly onResend: (letter: DeadLetter) => void;
  readonly onForget: (letter: DeadLetter) => void;
}

/** @param deeds absent: the reader may not */
function columnsOf(deeds: LetterDeeds | undefined): readonly Column<DeadLetter>[] {
  const { letterColumns: columns } = webhooksWords;
  const sentence = ({ event }: DeadLetter): string => eventText(event.type, event.data);
  return [
    { head: columns.at, cell: ({ event }) => <Time at={event.at} /> },
    {
      head: columns.what,
      isRowHead: true,
      cell: (letter) => (
        <div className={styles['name']}>
          <EventSubject event={letter.event} />
          <div className={styles['sentence']}>{sentence(letter)}</div>
        </div>
      ),
    },
    { head: columns.error, cell: ({ error }) => <div className={styles['name']}>{error}</div> },
    { head: columns.tries, isNumber: true, cell: ({ tries }) => tries },
    ...(deeds === undefined
      ? []
      : [
          {
            head: columns.actions,
            cell: (letter: DeadLetter) => (
              <div className={styles['buttons']}>
                {letter.is_resent ? (
                  <Badge>{webhooksWords.isResent}</Badge>
                ) : (
                  <Button
                    isSmall
                    aria-label={webhooksWords.resendOf(sentence(letter))}
                    onClick={() => deeds.onResend(letter)}
                  >
                    {webhooksWords.resend}
                  </Button>
                )}
                <Button
                  isSmall
                  aria-label={webhooksWords.forgetOf(sentence(letter))}
                  onClick={() => deeds.onForget(letter)}
                >
                  {webhooksWords.forget}
                </Button>
              </div>
            ),
          },
        ]),
  ];
}
