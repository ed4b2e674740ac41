/** What lists and details of webhooks both show. */
import type { ReactNode } from 'react';
import type { Webhook, WebhookDelivery } from '../../api/schema.ts';
import { eventChoiceText } from '../../text/events.ts';
import { webhooksWords } from '../../text/webhooks.ts';
import { Badge, type Tone } from '../../ui/display/badge.tsx';
import { Time } from '../../ui/display/time.tsx';

const STATE_TONES: Readonly<Record<WebhookDelivery['state'], Tone>> = {
  ok: 'good',
  failing: 'bad',
  disabled: 'neutral',
};

/** What a webhook gets, in a few words. */
export function chosenEvents({ events, app_ids: apps }: Webhook): string {
  const types = events.includes('*') ? webhooksWords.everything : events.map(eventChoiceText).join(', ');
  return apps.length === 0 ? types : `${types} ${webhooksWords.ofApps(apps.length)}`;
}

export function State({ delivery }: { readonly delivery: WebhookDelivery | undefined }): ReactNode {
  if (delivery === undefined) return null;
  return <Badge tone={STATE_TONES[delivery.state]}>{webhooksWords.states[delivery.state]}</Badge>;
}

export function LastDelivery({ delivery }: { readonly delivery: WebhookDelivery | undefined }): ReactNode {
  const at = delivery?.last_delivered_at ?? null;
  return at === null ? webhooksWords.never : <Time at={at} relative="ago" />;
}
