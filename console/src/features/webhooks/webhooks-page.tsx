/** Webhooks: where events are sent, how each delivery stands, and what did not arrive. */
import type { ReactNode } from 'react';
import { usePages, useRead } from '../../api/queries.ts';
import type { Webhook, WebhookDelivery } from '../../api/schema.ts';
import { useSearchText } from '../../page/search-text.ts';
import { useMay } from '../../page/session.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Button } from '../../ui/controls/button.tsx';
import { DataTable, type Column } from '../../ui/display/data-table.tsx';
import { EmptyState, Loaded } from '../../ui/display/notes.tsx';
import { PageHead, Panel, Stack } from '../../ui/display/panel.tsx';
import { CreateWebhook } from './create-webhook.tsx';
import { WebhookDetails } from './webhook-details.tsx';
import { chosenEvents, LastDelivery, State } from './webhook-parts.tsx';
import styles from './webhooks.module.css';

const LOOK_MS = 5_000;

export function WebhooksPage(): ReactNode {
  const [open, setOpen] = useSearchText('open');
  const isAdmin = useMay('admin');
  const webhooks = usePages('GET /webhooks', { query: { limit: 100 } });
  const deliveries = useRead('GET /webhook-deliveries', {}, { everyMs: LOOK_MS });
  const states = new Map(deliveries.data?.body.data.map((state) => [state.webhook_id, state]));
  const chosen = webhooks.data?.items.find(({ id }) => id === open);
  return (
    <>
      <PageHead title={webhooksWords.title} summary={webhooksWords.summary} />
      <Stack>
        {open === 'create' && isAdmin && <CreateWebhook onEnd={setOpen} />}
        <Panel
          title={webhooksWords.list}
          isFlush
          actions={
            isAdmin && (
              <Button look="main" isSmall onClick={() => setOpen('create')}>
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
                columns={columnsOf(states, setOpen)}
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
            onGone={() => setOpen('')}
          />
        )}
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
      cell: (webhook) => <div className={styles['name']}>{chosenEvents(webhook)}</div>,
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
