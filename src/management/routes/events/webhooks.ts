/** Webhooks as records of the API: created, changed, rotated and deleted by admins, because they send data out. */
import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '../../../lib/clock.ts';
import { secretBytes } from '../../../lib/ids.ts';
import { isLoopback } from '../../../lib/listeners.ts';
import type { FieldError } from '../../../model/errors.ts';
import { isTypePattern, typeMeant } from '../../../model/events/events.ts';
import {
  WEBHOOK_SECRET_BYTES,
  webhookSecret,
  webhookSecretError,
} from '../../../model/events/webhook-secret.ts';
import { isMaskedUrl, maskedUrl } from '../../../model/events/webhook-url.ts';
import type { StoredWebhook } from '../../../model/events/webhook.ts';
import { warning, type Warning } from '../../../model/warnings.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { checkIfMatch, entityTag } from '../../api/entity-tag.ts';
import { answer, fail, invalid, isFailure, type Failure } from '../../api/failure.ts';
import type { Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { itemPath, locate } from '../../crud/locate.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import {
  CreatedWebhookSchema,
  OVERLAP_SECS_DEFAULT,
  WebhookCreationSchema,
  WebhookInputSchema,
  WebhookRotationSchema,
  WEBHOOKS_MAX,
  WebhookSchema,
  type WebhookCreation,
  type WebhookInput,
  type WebhookRotation,
} from '../../schemas/events/webhook.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { nextUpdatedAt, NOTHING_TOUCHED } from '../../write/write.ts';

export const webhooks: Resource<object, WebhookInput, StoredWebhook> = {
  type: 'webhook',
  names: ['Webhook', 'Webhooks'],
  operationNames: ['Webhook', 'Webhooks'],
  tag: 'Events',
  collection: '/webhooks',
  parameter: 'webhook_id',
  dryRun: false,
  access: { read: 'viewer', write: 'admin' },
  inputSchema: jsonSchema(WebhookInputSchema),
  creationSchema: jsonSchema(WebhookCreationSchema),
  schema: jsonSchema(WebhookSchema),
  createdSchema: jsonSchema(CreatedWebhookSchema),
  example: {
    input: { name: 'on call', url: 'https://hooks.example.com/headgate', events: ['breaker.*', 'key.*'] },
    patch: { is_active: false },
  },
  scope: async () => ({}),
  list: (reader, _scope, page) => reader.listWebhooks(page),
  find: (reader, _scope, reference) => reader.findWebhook(reference),
  build: buildWebhook,
  insert: (writer, webhook) => writer.insertWebhook(webhook),
  async update(writer, webhook) {
    await writer.updateWebhook(webhook);
    return undefined;
  },
  remove: (writer, { id }) => writer.deleteWebhook(id),
  writable: ({ name, url, events, app_ids, is_active }) => ({ name, url, events, app_ids, is_active }),
  present: presentWebhook,
  presentMasked: (webhook) => ({ ...presentWebhook(webhook), url: maskedUrl(webhook.url) }),
  nameOf: ({ name }) => name,
  warnings: async ({ reader }, _scope, webhook) => [
    ...urlWarnings(webhook.url),
    ...(await repetitionWarnings(webhook, reader)),
  ],
  touched: () => NOTHING_TOUCHED,
};

function presentWebhook(webhook: StoredWebhook): Readonly<Record<string, unknown>> {
  const { secret: _secret, previous_secret: _previous, ...served } = webhook;
  return served;
}

async function buildWebhook(
  input: WebhookInput,
  base: RecordBase,
  previous: StoredWebhook | undefined,
  _scope: object,
  rules: RuleContext,
): Promise<Built<StoredWebhook> | Failure> {
  const { secret: given } = input as WebhookCreation;
  const apps = await appIdsOf(input.app_ids ?? [], previous?.app_ids ?? [], rules);
  // A URL that cannot be decrypted stays as it is stored.
  const keepsUrl = previous !== undefined && isMaskedUrl(previous.url) && input.url === previous.url;
  const wrongUrl = keepsUrl ? [] : urlErrors(input.url, rules);
  const errors = [...wrongUrl, ...patternErrors(input.events), ...apps.errors];
  const weakness = given === undefined ? undefined : webhookSecretError(given);
  if (weakness !== undefined) errors.push({ pointer: '/secret', detail: weakness });
  if (errors.length > 0) return invalid(errors);
  const isActive = input.is_active ?? true;
  const written = {
    name: input.name,
    url: input.url,
    events: input.events ?? ['*'],
    app_ids: apps.ids,
    is_active: isActive,
    disabled_reason: isActive ? null : (previous?.disabled_reason ?? null),
  };
  if (previous !== undefined) return { record: { ...previous, ...written } };
  if ((await rules.reader.countWebhooks()) >= WEBHOOKS_MAX)
    return fail(
      'conflict',
      `There are already ${WEBHOOKS_MAX} webhooks, which is the maximum; delete one first`,
    );
  const secret = given ?? webhookSecret(secretBytes(WEBHOOK_SECRET_BYTES));
  return {
    record: { ...base, ...written, secret, previous_secret: null, previous_secret_expires_at: null },
    shownOnce: { secret },
  };
}

const PORTS: Readonly<Record<string, number>> = { 'https:': 443, 'http:': 80 };

const MASKED_URL =
  'must be the whole URL: this one is masked, for a role that may not see it or since the stored one cannot be decrypted';

function urlErrors(text: string, { egress }: RuleContext): FieldError[] {
  const pointer = '/url';
  const url = URL.parse(text);
  const port = url === null ? undefined : PORTS[url.protocol];
  if (url === null || port === undefined)
    return [{ pointer, detail: 'must be an absolute URL with https:// or http://' }];
  if (url.username + url.password !== '')
    return [{ pointer, detail: 'must not have a user name or a password; requests are signed instead' }];
  if (isMaskedUrl(url.href)) return [{ pointer, detail: MASKED_URL }];
  if (url.hash !== '') return [{ pointer, detail: 'must not have a fragment: it would not be sent' }];
  const denial = egress.hostDenial(url.hostname, Number(url.port) || port);
  return denial === undefined ? [] : [{ pointer, detail: `is denied: ${denial}` }];
}

function urlWarnings(text: string): Warning[] {
  const { protocol, hostname, host } = new URL(text);
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'))) return [];
  return [warning('webhook_without_tls', '/url', `Events go to ${host} without TLS`)];
}

/** A creation that is sent again after its answer was lost makes a second webhook, and its events arrive twice. */
async function repetitionWarnings(webhook: StoredWebhook, reader: ConfigReader): Promise<Warning[]> {
  const { items } = await reader.listWebhooks({ limit: WEBHOOKS_MAX, after: undefined });
  const others = items.filter(({ id }) => id !== webhook.id);
  const repeated = others.find((other) => sendsSame(webhook, other));
  if (repeated !== undefined)
    return [
      warning(
        'webhook_repeated',
        '/url',
        `The webhook "${repeated.name}" sends the same events to the same URL`,
      ),
    ];
  return others.some(({ name }) => name === webhook.name)
    ? [
        warning(
          'webhook_repeated',
          '/name',
          `Another webhook has the name "${webhook.name}": commands need its id`,
        ),
      ]
    : [];
}

function sendsSame(one: StoredWebhook, other: StoredWebhook): boolean {
  if (!one.is_active || !other.is_active || isMaskedUrl(one.url)) return false;
  const [a, b] = [one, other].map(({ url, events, app_ids: apps }) => [
    url,
    [...events].sort(),
    [...apps].sort(),
  ]);
  return isDeepStrictEqual(a, b);
}

function patternErrors(patterns: readonly string[] = []): FieldError[] {
  return patterns.flatMap((pattern, index) =>
    isTypePattern(pattern)
      ? []
      : [
          {
            pointer: `/events/${index}`,
            detail: `"${pattern}" is not a type of event or a group such as key.*${typeMeant(pattern)}`,
          },
        ],
  );
}

/** Apps by id or slug. A webhook may keep an app that was deleted since. */
async function appIdsOf(
  references: readonly string[],
  known: readonly string[],
  { reader }: RuleContext,
): Promise<{ readonly ids: readonly string[]; readonly errors: FieldError[] }> {
  const ids = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, reference] of references.entries()) {
    const id = (await reader.findApp(reference))?.id ?? known.find((one) => one === reference);
    if (id === undefined)
      errors.push({ pointer: `/app_ids/${index}`, detail: `there is no app "${reference}"` });
    else ids.add(id);
  }
  return { ids: [...ids], errors };
}

/** `POST …/rotate`: a new secret; the old one also signs for a while, so that a receiver can change over. */
export function rotateWebhookOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${itemPath(webhooks)}/rotate`,
    operationId: 'rotateWebhook',
    tag: webhooks.tag,
    summary: 'Give a webhook a new secret',
    description:
      'For `overlap_secs`, events are signed with both secrets. Another rotation within that time ends the older secret.',
    access: 'admin',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(WebhookRotationSchema),
      required: false,
      mergePatch: false,
      example: { overlap_secs: 3600 },
    },
    entityTag: true,
    isWrite: true,
    success: {
      status: 200,
      description: 'The webhook with its new secret',
      schema: jsonSchema(envelopeSchema('CreatedWebhookEnvelope', CreatedWebhookSchema)),
    },
    failures: [],
    handle: async (call) => {
      // Every gateway may send, so the clock of the database decides.
      const nowMs = await context.webhooks.nowMs();
      return context.write(call, async (writer) => {
        const located = await locate(webhooks, writer, call.params);
        if (isFailure(located)) return located;
        const { record: previous } = located;
        const stale = checkIfMatch(call.ifMatch, entityTag(presentWebhook(previous)));
        if (stale !== undefined) return stale;
        if (isMaskedUrl(previous.url)) return invalid([{ pointer: '/url', detail: MASKED_URL }]);
        const { overlap_secs: overlapSecs = OVERLAP_SECS_DEFAULT, secret: given } =
          (call.body as WebhookRotation | undefined) ?? {};
        const weakness = given === undefined ? undefined : webhookSecretError(given);
        if (weakness !== undefined) return invalid([{ pointer: '/secret', detail: weakness }]);
        const secret = given ?? webhookSecret(secretBytes(WEBHOOK_SECRET_BYTES));
        const keeps = overlapSecs > 0 && previous.secret !== null;
        const webhook: StoredWebhook = {
          ...previous,
          secret,
          previous_secret: keeps ? previous.secret : null,
          previous_secret_expires_at: keeps ? timestamp(nowMs + overlapSecs * 1000) : null,
          updated_at: nextUpdatedAt(previous.updated_at, context.clock.nowMs()),
        };
        await writer.updateWebhook(webhook);
        const served = presentWebhook(webhook);
        return {
          answer: answer(200, 'Webhook rotated', { ...served, secret }, { ETag: entityTag(served) }),
          touched: NOTHING_TOUCHED,
          audit: {
            action: 'webhook.rotate',
            resourceType: 'webhook',
            resourceId: webhook.id,
            resourceName: webhook.name,
            parents: {},
            change: { overlap_secs: overlapSecs },
          },
        };
      });
    },
  };
}
