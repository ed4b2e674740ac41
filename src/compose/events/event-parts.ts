/** Wires events and webhooks: recording, trimming and sending. */
import { hostname } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import type { Egress } from '../../egress/egress.ts';
import type { Logger } from '../../observe/log.ts';
import { EventRecorder } from '../../control/events/event-recorder.ts';
import { EventTrimmer } from '../../control/events/event-trimmer.ts';
import { WebhookSender } from '../../control/webhooks/webhook-sender.ts';
import { randomHex } from '../../lib/ids.ts';
import type { EventUse } from '../../observe/metrics/event-metrics.ts';
import type { Settings } from '../../settings/settings.ts';
import { leaseHolder } from '../../storage/delivery-store.ts';
import type { Repository } from '../../storage/repository.ts';

const HOLDER_BYTES = 8;

export interface EventParts {
  readonly recorder: EventRecorder;
  readonly sender: WebhookSender;
  readonly trimmer: EventTrimmer;
}

interface Needed {
  readonly settings: Settings;
  readonly repository: Repository;
  readonly egress: Egress;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Sends nothing before `sender.start`. */
export function createEvents({ settings, ...needed }: Needed): EventParts {
  const nodeName = settings.cluster.nodeName ?? hostname();
  const holder = leaseHolder(nodeName, randomHex(HOLDER_BYTES));
  return {
    recorder: new EventRecorder({ ...needed, nodeName }),
    sender: new WebhookSender({ ...needed, settings: settings.webhooks, holder, nodeName }),
    trimmer: new EventTrimmer({ ...needed, settings: settings.events, auditDays: settings.audit.maxDays }),
  };
}

/** The facts about webhooks for metrics. */
export async function eventFacts(
  { recorder, sender }: EventParts,
  repository: Repository,
): Promise<EventUse> {
  // Without a database there is no store either.
  const webhooks = await (async () => repository.deliveries.summary())().catch(() => undefined);
  return { ...recorder.facts, sent: sender.sent, webhooks };
}

/** Records what still waits last, since stopping the other parts may add events. */
export async function stopEvents({ recorder, sender, trimmer }: EventParts): Promise<void> {
  await Promise.all([sender.stop(), trimmer.stop(), recorder.stop()]);
}
