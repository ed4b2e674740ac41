/** Webhooks: what a client writes and reads, and the state of deliveries. */
import { Type, type Static } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../../../model/schema-pieces.ts';
import { EventSchema } from '../../../model/events/events.ts';
import { NO_CONTROL_CHARACTERS_PATTERN } from '../../../model/patterns.ts';
import { displayName, recordFields } from '../common.ts';

export const WEBHOOKS_MAX = 100;
const PATTERNS_MAX = 50;
const APPS_MAX = 100;
const OVERLAP_SECS_MAX = 2_592_000;
const OVERLAP_SECS_DEFAULT = 86_400;

const secret = Type.String({
  maxLength: 128,
  description:
    'Secret that signs the events: `whsec_` and 24 to 64 bytes in base64. Default: the gateway generates one.',
});
const EVENTS_TEXT = 'Types of events, or groups such as `breaker.*`. `*`: every type.';
const APPS_TEXT =
  'Ids or slugs of apps. The webhook then gets only events of these apps, and writes that changed several apps. Empty: all events.';
const ACTIVE_TEXT = 'Whether events are sent. While this is false, events wait as long as they are kept.';
const written = {
  name: displayName('What the webhook is for.'),
  url: Type.String({
    minLength: 1,
    maxLength: 2_048,
    pattern: NO_CONTROL_CHARACTERS_PATTERN,
    description:
      'Where events are sent, with `https://` or `http://`. The rules of egress apply to it. Roles below `admin` see `********` in place of its path and query, as does the audit log.',
  }),
  events: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      minItems: 1,
      maxItems: PATTERNS_MAX,
      default: ['*'],
      description: EVENTS_TEXT,
    }),
  ),
  app_ids: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: APPS_MAX,
      default: [],
      description: APPS_TEXT,
    }),
  ),
  is_active: Type.Optional(
    Type.Boolean({
      default: true,
      description: ACTIVE_TEXT,
    }),
  ),
};

export const WebhookInputSchema = Type.Object(written, { ...closed, title: 'WebhookInput' });
export const WebhookCreationSchema = Type.Object(
  { ...written, secret: Type.Optional(secret) },
  { ...closed, title: 'WebhookCreation' },
);
export type WebhookInput = Static<typeof WebhookInputSchema>;
export type WebhookCreation = Static<typeof WebhookCreationSchema>;

const servedFields = {
  ...recordFields,
  name: written.name,
  url: written.url,
  events: Type.Array(Type.String(), { description: EVENTS_TEXT }),
  app_ids: Type.Array(Type.String(), { description: APPS_TEXT }),
  is_active: Type.Boolean({ description: ACTIVE_TEXT }),
  disabled_reason: nullable(
    Type.String({
      readOnly: true,
      description: 'Why the gateway switched the webhook off. null: it did not.',
    }),
  ),
  previous_secret_expires_at: nullable(
    dateTime(
      'End of the time in which the secret before the last rotation also signs. null: it does not sign.',
    ),
  ),
};

export const WebhookSchema = Type.Object(servedFields, { ...closed, title: 'Webhook' });
export const CreatedWebhookSchema = Type.Object(
  {
    ...servedFields,
    secret: Type.String({ description: 'The secret itself. It is shown only once.' }),
  },
  { ...closed, title: 'CreatedWebhook' },
);

export const WebhookRotationSchema = Type.Object(
  {
    overlap_secs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECS_MAX,
        default: OVERLAP_SECS_DEFAULT,
        description: 'Seconds for which the old secret also signs.',
      }),
    ),
    secret: Type.Optional(secret),
  },
  { ...closed, title: 'WebhookRotation' },
);
export type WebhookRotation = Static<typeof WebhookRotationSchema>;
export { OVERLAP_SECS_DEFAULT };

export const WebhookTestSchema = Type.Object(
  {
    event_id: Type.String({ description: 'Id of the event that was sent.' }),
    is_delivered: Type.Boolean({ description: 'Whether the receiver answered with 2xx.' }),
    status: nullable(Type.Integer({ description: 'Status of the answer. null: there was none.' })),
    latency_ms: Type.Integer({ minimum: 0, description: 'Milliseconds.' }),
    error: nullable(Type.String({ description: 'What went wrong. null: nothing.' })),
  },
  { ...closed, title: 'WebhookTest' },
);

export const WebhookDeliverySchema = Type.Object(
  {
    webhook_id: Type.String({ description: 'Id of the webhook.' }),
    name: Type.String({ description: 'Name of the webhook.' }),
    state: oneOf(['ok', 'failing', 'disabled'], {
      description: '`failing`: the last attempt failed. `disabled`: nothing is sent.',
    }),
    sender: nullable(
      Type.String({ description: 'The gateway that sends the events at present. null: none.' }),
    ),
    waiting: Type.Integer({
      minimum: 0,
      description: 'Number of events that wait; 10,000 stands for 10,000 or more.',
    }),
    delivered: Type.Integer({
      minimum: 0,
      description: 'Number of deliveries since the webhook was created.',
    }),
    dead_letters: Type.Integer({
      minimum: 0,
      description: 'Events that are no longer sent after too many failures.',
    }),
    failures: Type.Integer({ minimum: 0, description: 'Failed attempts in a row.' }),
    last_error: nullable(
      Type.String({ description: 'Reason of the last failed attempt since the last delivery.' }),
    ),
    last_failed_at: nullable(dateTime('When the last attempt failed.')),
    last_delivered_at: nullable(dateTime('When an event was last delivered.')),
    next_try_at: nullable(dateTime('Time of the next attempt. null: now, or as soon as there is an event.')),
  },
  { ...closed, title: 'WebhookDelivery' },
);

export const DeadLetterSchema = Type.Object(
  {
    event: EventSchema,
    tries: Type.Integer({ minimum: 0, description: 'Number of attempts to send the event.' }),
    error: Type.String({ description: 'Why the last attempt failed.' }),
    failed_at: dateTime('When the gateway stopped sending it.'),
    is_resent: Type.Boolean({ description: 'Whether the event waits to be sent again.' }),
  },
  { ...closed, title: 'DeadLetter' },
);

export const DeadLetterCountSchema = Type.Object(
  { dead_letters: Type.Integer({ minimum: 0, description: 'Number of dead letters.' }) },
  { ...closed, title: 'DeadLetterCount' },
);
