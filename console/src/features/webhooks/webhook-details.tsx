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
import { ConfirmDialog } from '../../ui/overlay/confirm.tsx';
import { showToast } from '../../ui/overlay/toasts.tsx';
import { ShownOnce } from '../keys/shown-once.tsx';
import { DeadLetters } from './dead-letters.tsx';
import { EditWebhook } from './edit-webhook.tsx';
import { chosenEvents, LastDelivery, State } from './webhook-parts.tsx';
import styles from './webhooks.module.css';

interface DetailsProps {
  readonly webhook: Webhook;
  readonly delivery: WebhookDelivery | undefined;
  readonly onGone: () => void;
}

export function WebhookDetails({ webhook, delivery, onGone }: DetailsProps): ReactNode {
  const isAdmin = useMay('admin');
  const { name } = webhook;
  const [isLeaving, setLeaving] = useState(false);
  const [isEdited, setEdited] = useState(false);
  return (
    <>
      {isEdited && <EditWebhook webhook={webhook} onEnd={() => setEdited(false)} />}
      <Panel title={webhooksWords.detailsOf(name)}>
        <div className={styles['details']}>
          {webhook.disabled_reason !== null && (
            <Note tone="warn">{webhooksWords.disabledWhy(webhook.disabled_reason)}</Note>
          )}
          <KeyValues rows={rowsOf(webhook, delivery)} />
          {isAdmin && (
            <Deeds webhook={webhook} onEdit={() => setEdited(true)} onGone={onGone} onLeaving={setLeaving} />
          )}
        </div>
      </Panel>
      <DeadLetters webhook={webhook} isAdmin={isAdmin} isLeaving={isLeaving} />
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

type Asked = 'delete' | 'rotate';

interface DeedsProps extends Pick<DetailsProps, 'webhook' | 'onGone'> {
  readonly onEdit: () => void;
  /** Nothing below it is asked for while it is deleted. */
  readonly onLeaving: (isLeaving: boolean) => void;
}

function Deeds({ webhook, onEdit, onGone, onLeaving }: DeedsProps): ReactNode {
  const { id, name, is_active: isActive } = webhook;
  const path = { webhook_id: id };
  const [asked, setAsked] = useState<Asked>();
  const test = useWrite('POST /webhooks/{webhook_id}/test');
  const change = useWrite('PATCH /webhooks/{webhook_id}');
  const rotation = useWrite('POST /webhooks/{webhook_id}/rotate');
  const deletion = useWrite('DELETE /webhooks/{webhook_id}');
  const turn = async (): Promise<void> => {
    await change.mutateAsync({ path, body: { is_active: !isActive } });
    showToast({ title: isActive ? webhooksWords.disabled(name) : webhooksWords.enabled(name) });
  };
  const tested = test.data?.body.data;
  const error = test.error ?? change.error;
  return (
    <>
      <div className={styles['buttons']}>
        <Button look="main" isBusy={test.isPending} onClick={() => test.mutate({ path })}>
          {webhooksWords.test}
        </Button>
        <Button isBusy={change.isPending} onClick={() => void turn().catch(() => undefined)}>
          {isActive ? webhooksWords.disable : webhooksWords.enable}
        </Button>
        <Button onClick={onEdit}>{webhooksWords.edit}</Button>
        <Button onClick={() => setAsked('rotate')}>{webhooksWords.rotate}</Button>
        <Button look="danger" onClick={() => setAsked('delete')}>
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
      {error !== null && <ErrorNote error={error} />}
      <ConfirmDialog
        isOpen={asked === 'rotate'}
        onClose={() => setAsked(undefined)}
        title={webhooksWords.rotateTitle(name)}
        action={webhooksWords.rotate}
        onConfirm={() => rotation.mutateAsync({ path, body: {} })}
      >
        {webhooksWords.rotateText}
      </ConfirmDialog>
      <ShownOnce
        value={rotation.data?.body.data.secret}
        name={name}
        use={webhooksWords.secretShown}
        onStored={() => rotation.reset()}
      />
      <ConfirmDialog
        isOpen={asked === 'delete'}
        onClose={() => setAsked(undefined)}
        title={webhooksWords.deleteTitle(name)}
        name={name}
        action={webhooksWords.delete}
        onConfirm={async () => {
          onLeaving(true);
          await deletion.mutateAsync({ path }).catch((cause: unknown) => {
            onLeaving(false);
            throw cause;
          });
          showToast({ title: webhooksWords.deleted(name) });
          onGone();
        }}
      >
        {webhooksWords.deleteText}
      </ConfirmDialog>
    </>
  );
}
