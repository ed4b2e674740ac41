/** One webhook: how its deliveries stand, what an admin can do with it, and what it did not get. */
import { useState, type ReactNode } from 'react';
import { useWrite } from '../../api/queries.ts';
import type { Webhook, WebhookDelivery } from '../../api/schema.ts';
import { useMay } from '../../page/session.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Button } from '../../ui/controls/button.tsx';
import { KeyValues, row } from '../../ui/display/key-values.tsx';
import { ErrorNote, Note } from '../../ui/display/notes.tsx';
import { Panel } from '../../ui/display/panel.tsx';
import { Time } from '../../ui/display/time.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { WebhookDialog, type AskedOfWebhook } from './webhook-dialogs.tsx';
import { chosenEvents, LastDelivery, State } from './webhook-parts.tsx';
import styles from './webhooks.module.css';

interface DetailsProps {
  readonly webhook: Webhook;
  readonly delivery: WebhookDelivery | undefined;
  readonly onEdit: () => void;
  readonly onGone: () => Promise<void>;
}

export function WebhookDetails({ webhook, delivery, onEdit, onGone }: DetailsProps): ReactNode {
  const isAdmin = useMay('admin');
  const { name } = webhook;
  return (
    <>
      <Panel title={webhooksWords.detailsOf(name)}>
        <div className={styles['details']}>
          {webhook.disabled_reason !== null && (
            <Note tone="warn">{webhooksWords.disabledWhy(webhook.disabled_reason)}</Note>
          )}
          <KeyValues rows={rowsOf(webhook, delivery)} />
          {isAdmin && <Actions webhook={webhook} onEdit={onEdit} onGone={onGone} />}
        </div>
      </Panel>
      <DeadLetters webhook={webhook} isAdmin={isAdmin} />
    </>
  );
}

function rowsOf(webhook: Webhook, delivery: WebhookDelivery | undefined): ReturnType<typeof row>[] {
  const { fields } = webhooksWords;
  const rows = [
    row(fields.state, <State delivery={delivery} />),
    row(fields.url, <code className={styles['url']}>{webhook.url}</code>),
    row(fields.events, chosenEvents(webhook)),
  ];
  if (delivery !== undefined) {
    const { last_error: error, last_failed_at: failedAt, next_try_at: nextTry } = delivery;
    rows.push(
      row(fields.waiting, webhooksWords.waiting(delivery.waiting)),
      row(fields.delivered, String(delivery.delivered)),
      row(fields.lastDelivery, <LastDelivery delivery={delivery} />),
    );
    if (error !== null) {
      rows.push(
        row(
          fields.lastError,
          <>
            {error} ({webhooksWords.failuresInARow(delivery.failures)}){' '}
            {failedAt !== null && <Time at={failedAt} relative="ago" />}
          </>,
        ),
      );
    }
    if (nextTry !== null && delivery.waiting > 0)
      rows.push(row(fields.nextTry, <Time at={nextTry} relative="either" />));
  }
  const { previous_secret_expires_at: oldUntil } = webhook;
  if (oldUntil !== null) {
    rows.push(
      row(
        fields.oldSecret,
        <>
          {webhooksWords.until} <Time at={oldUntil} relative="either" />
        </>,
      ),
    );
  }
  return rows;
}

type ActionsProps = Pick<DetailsProps, 'webhook' | 'onEdit' | 'onGone'>;

function Actions({ webhook, onEdit, onGone }: ActionsProps): ReactNode {
  const [asked, setAsked] = useState<AskedOfWebhook>();
  const [secret, setSecret] = useState<string>();
  const test = useWrite('POST /webhooks/{webhook_id}/test');
  const tested = test.data?.body.data;
  return (
    <>
      <div className={styles['buttons']}>
        <Button
          look="main"
          isBusy={test.isPending}
          onClick={() => test.mutate({ path: { webhook_id: webhook.id } })}
        >
          {webhooksWords.test}
        </Button>
        <Button onClick={() => setAsked({ action: 'switch', webhook })}>
          {webhook.is_active ? webhooksWords.disable : webhooksWords.enable}
        </Button>
        <Button onClick={onEdit}>{webhooksWords.edit}</Button>
        <Button onClick={() => setAsked({ action: 'rotate', webhook })}>{webhooksWords.rotate}</Button>
        <Button look="danger" onClick={() => setAsked({ action: 'delete', webhook })}>
          {webhooksWords.delete}
        </Button>
      </div>
      <div role="status">
        {tested !== undefined && !test.isPending && (
          <Note tone={tested.is_delivered ? 'good' : 'bad'}>
            {tested.is_delivered
              ? webhooksWords.testOk(tested.status, tested.latency_ms)
              : webhooksWords.testFailed(tested.error ?? String(tested.status))}
          </Note>
        )}
      </div>
      {test.error !== null && <ErrorNote error={test.error} />}
      {asked !== undefined && (
        <WebhookDialog
          asked={asked}
          onSecret={setSecret}
          onGone={onGone}
          onClose={() => setAsked(undefined)}
        />
      )}
      <ShownOnce
        value={secret}
        name={webhook.name}
        use={webhooksWords.secretShown}
        onStored={() => setSecret(undefined)}
      />
    </>
  );
}
