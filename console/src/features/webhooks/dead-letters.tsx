/** The events that a webhook did not get: sent again one by one or all at once, or forgotten. */
import { useState, type ReactNode } from 'react';
import { usePages } from '../../api/queries.ts';
import type { DeadLetter, Webhook } from '../../api/schema.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Button } from '../../ui/controls/button.tsx';
import { Badge } from '../../ui/display/badge.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { Loaded } from '../../ui/display/notes.tsx';
import { Panel, QuietPanel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { EventSubject } from '../events/event-subject.tsx';
import { DeadLetterDialog, letterText, sentenceOf, type AskedOfLetters } from './dead-letter-dialogs.tsx';
import styles from './webhooks.module.css';

const LOOK_MS = 5_000;

interface LettersProps {
  readonly webhook: Webhook;
  readonly isAdmin: boolean;
}

export function DeadLetters({ webhook, isAdmin }: LettersProps): ReactNode {
  const path = { webhook_id: webhook.id };
  const letters = usePages(
    'GET /webhooks/{webhook_id}/dead-letters',
    { path, query: { limit: 50 } },
    { everyMs: LOOK_MS },
  );
  const [asked, setAsked] = useState<AskedOfLetters>();
  if (letters.data?.items.length === 0) {
    return <QuietPanel title={webhooksWords.deadLetters}>{webhooksWords.noDeadLetters}</QuietPanel>;
  }
  return (
    <Panel
      title={webhooksWords.deadLetters}
      isFlush
      actions={
        isAdmin && (
          <>
            <Button isSmall onClick={() => setAsked({ action: 'resend' })}>
              {webhooksWords.resendAll}
            </Button>
            <Button isSmall look="danger" onClick={() => setAsked({ action: 'forget' })}>
              {webhooksWords.forgetAll}
            </Button>
          </>
        )
      }
    >
      <p className={styles['text']}>{webhooksWords.deadLettersText}</p>
      <Loaded query={letters}>
        {({ items, total }) => (
          <DataTable
            caption={webhooksWords.deadLetters}
            rows={items}
            keyOf={({ event }) => event.id}
            columns={columnsOf(isAdmin ? setAsked : undefined)}
            more={{ total, pages: letters }}
          />
        )}
      </Loaded>
      {asked !== undefined && (
        <DeadLetterDialog webhook={webhook} asked={asked} onClose={() => setAsked(undefined)} />
      )}
    </Panel>
  );
}

/** @param onAsk absent: the reader may not */
function columnsOf(onAsk: ((asked: AskedOfLetters) => void) | undefined): readonly Column<DeadLetter>[] {
  const { letterColumns: columns } = webhooksWords;
  return [
    { head: columns.at, cell: ({ event }) => <Time at={event.at} /> },
    {
      head: columns.what,
      isRowHead: true,
      cell: (letter) => (
        <div className={styles['name']}>
          <EventSubject event={letter.event} />
          <div className={styles['sentence']}>{sentenceOf(letter)}</div>
        </div>
      ),
    },
    { head: columns.error, cell: ({ error }) => <div className={styles['name']}>{error}</div> },
    { head: columns.tries, isNumber: true, cell: ({ tries }) => tries },
    ...(onAsk === undefined
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
                    aria-label={webhooksWords.resendOf(letterText(letter))}
                    onClick={() => onAsk({ action: 'resend', letter })}
                  >
                    {webhooksWords.resend}
                  </Button>
                )}
                <Button
                  isSmall
                  aria-label={webhooksWords.forgetOf(letterText(letter))}
                  onClick={() => onAsk({ action: 'forget', letter })}
                >
                  {webhooksWords.forget}
                </Button>
              </div>
            ),
          },
        ]),
  ];
}
