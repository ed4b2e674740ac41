/** Webhooks: where events are sent, how each delivery stands, and what did not arrive. */
import type { ReactNode } from 'react';
import { usePages, useRead } from '../../api/queries.ts';
import type { Webhook, WebhookDelivery } from '../../api/schema.ts';
import { useSearchText, useSetSearchTexts } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Button } from '../../ui/controls/button.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded, Note } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { CreateWebhook } from './create-webhook.tsx';
import { EditWebhook } from './edit-webhook.tsx';
import { WebhookDetails } from './webhook-details.tsx';
import { chosenEvents, LastDelivery, State } from './webhook-parts.tsx';
import styles from './webhooks.module.css';

const LOOK_MS = 5_000;
const CREATE = 'create';
const EDIT = 'edit';

export function WebhooksPage(): ReactNode {
  const [open] = useSearchText('open');
  const [tab] = useSearchText('tab');
  const setAddress = useSetSearchTexts();
  const setOpen = (id: string): Promise<void> => setAddress({ open: id, tab: '' });
  const isAdmin = useMay('admin');
  const webhooks = usePages('GET /webhooks', { query: { limit: 100 } }, { everyMs: LOOK_MS });
  const deliveries = useRead('GET /webhook-deliveries', {}, { everyMs: LOOK_MS });
  const states = new Map(deliveries.data?.body.data.map((state) => [state.webhook_id, state]));
  const chosen = webhooks.data?.items.find(({ id }) => id === open);
  const isOfOne = open !== '' && open !== CREATE;
  const isEdited = isOfOne && tab === EDIT && isAdmin;
  const isMissing = isOfOne && webhooks.data !== undefined && chosen === undefined;
  return (
    <>
      <PageHead title={webhooksWords.title} summary={webhooksWords.summary} />
      <Stack>
        {open === CREATE && isAdmin && <CreateWebhook onEnd={(id) => void setOpen(id)} />}
        {isEdited && <EditWebhook key={`${EDIT} ${open}`} id={open} onEnd={() => void setOpen(open)} />}
        <Panel
          title={webhooksWords.list}
          isFlush
          actions={
            isAdmin && (
              <Button look="main" isSmall onClick={() => void setOpen(CREATE)}>
                {webhooksWords.create}
              </Button>
            )
          }
        >
          <p className={styles['text']}>{webhooksWords.listText}</p>
          <Loaded query={webhooks}>
            {({ items }) => (
              <DataTable
                caption={webhooksWords.list}
                rows={items}
                keyOf={({ id }) => id}
                columns={columnsOf(states, (id) => void setOpen(id))}
                empty={<EmptyState title={webhooksWords.emptyTitle}>{webhooksWords.empty}</EmptyState>}
              />
            )}
          </Loaded>
        </Panel>
        {chosen !== undefined && (
          <WebhookDetails
            key={chosen.id}
            webhook={chosen}
            delivery={states.get(chosen.id)}
            onEdit={() => void setAddress({ tab: EDIT })}
            onGone={() => setOpen('')}
          />
        )}
        {isMissing && <Note tone="warn">{webhooksWords.isGone}</Note>}
      </Stack>
    </>
  );
}

function columnsOf(
  states: ReadonlyMap<string, WebhookDelivery>,
  onOpen: (id: string) => void,
): readonly Column<Webhook>[] {
  const { columns } = webhooksWords;
  return [
    { head: columns.name, isRowHead: true, cell: ({ name }) => <div className={styles['name']}>{name}</div> },
    { head: columns.url, cell: ({ url }) => <code className={styles['url']}>{url}</code> },
    {
      head: columns.events,
      cell: (webhook) => <div className={styles['events']}>{chosenEvents(webhook)}</div>,
    },
    { head: columns.state, cell: ({ id }) => <State delivery={states.get(id)} /> },
    {
      head: columns.waiting,
      isNumber: true,
      cell: ({ id }) => webhooksWords.waiting(states.get(id)?.waiting ?? 0),
    },
    { head: columns.delivered, cell: ({ id }) => <LastDelivery delivery={states.get(id)} /> },
    {
      head: columns.actions,
      cell: ({ id, name }) => (
        <Button isSmall aria-label={webhooksWords.openOf(name)} onClick={() => onOpen(id)}>
          {webhooksWords.open}
        </Button>
      ),
    },
  ];
}
