/**
 * docs/reference/events.md: every type of event with its data, from the catalogue, and how webhooks send them. Pure.
 */
import { EVENT_ROWS, EventSchema } from '../../src/model/events/events.ts';
import { jsonSchema } from '../../src/model/json-schema.ts';
import { code, page, table } from './markdown.ts';
import { fieldsOf } from './schema-fields.ts';

const INTRODUCTION = `The gateway records what happens to it as events: who changed the configuration, what failed and what recovered, and what expires
soon. [Webhooks](../how-to/webhooks.md) receive them, and you can [watch them](../how-to/watch-events.md). Events are kept for \`GATEWAY_EVENTS__MAX_DAYS\` days, and at most
\`GATEWAY_EVENTS__MAX_EVENTS\` of them. If there are more, the oldest events of the most frequent types are removed, so that many changes of the
configuration do not displace other events. Events contain no secrets and no data of clients.

An event of a write is stored in the transaction of the write, so neither exists without the other. Other events are
recorded by the gateway that notices them. While the database is unavailable, up to 10,000 events wait in memory.`;

const DELIVERY = `A webhook is an address to which events are sent with \`POST\`, in the format of
[Standard Webhooks](https://www.standardwebhooks.com/): the body is the event as above. Libraries for many languages
check the signature.

| Header | Value |
| --- | --- |
| \`webhook-id\` | the id of the event; it stays the same when the event is sent again |
| \`webhook-timestamp\` | the time of this request, in seconds since 1970, by the clock of the database |
| \`webhook-signature\` | \`v1,\` and the base64 of HMAC-SHA256 over \`{webhook-id}.{webhook-timestamp}.{body}\`, keyed with the bytes of the secret, which are in base64 after \`whsec_\`. After a rotation there are two signatures, separated by a space |

- **Order.** Events arrive in the order of their ids. An event that fails delays the events after it until it is delivered or given up.
- **At least once.** An event may arrive again, with the same \`webhook-id\`: keep the ids of the last minutes, and ignore events whose id you already have.
- **Delivered.** An event is delivered when the receiver answers 2xx within \`GATEWAY_WEBHOOKS__TIMEOUT_MS\`. Redirects are not followed; the body of the answer is ignored.
- **Tried again.** An event is sent again if there is no answer, or if the answer is 5xx, 408, 421, 425 or 429. The first wait is \`GATEWAY_WEBHOOKS__RETRY_MIN_MS\`; it doubles with each failure, up to \`GATEWAY_WEBHOOKS__RETRY_MAX_MS\`, and is shortened at random by up to half. \`Retry-After\` is obeyed, up to an hour. After \`GATEWAY_WEBHOOKS__MAX_TRIES\` attempts the event becomes a dead letter.
- **Refused.** An event that gets any other status is sent at most five times, and then becomes a dead letter.
- **410** switches the webhook off.
- **Dead letters** can be listed, sent again or deleted with the API, the command line or the console. Each webhook keeps its newest 10,000.
- **Independent.** One gateway at a time sends to a webhook, independently of other webhooks: a slow or dead receiver delays no other receiver and no write. If that gateway is killed, another one takes over within seconds.
- **Allowed addresses.** The rules of [egress](backend-connections.md) apply to the address of the connection. Over TLS, the receiver needs a certificate of an authority that Node.js trusts; \`NODE_EXTRA_CA_CERTS\`, set at the start, names a file (PEM) with more authorities.
- There are at most 100 webhooks. If the configuration comes from files, there are no webhooks.`;

const NOTICED = `Events of writes are recorded at once. Other events are recorded once, however many gateways notice them:

| Types | Noticed |
| --- | --- |
| \`breaker.*\` | at once, by the gateway of the breaker. The same change on several gateways within five seconds is one event. A failed trial is not an event |
| \`target.*\` | within a second, in the same way |
| \`version.deprecated\` | within five seconds after the write, or after the time in \`deprecated_at\` |
| \`version.sunset_near\` | the days of \`GATEWAY_EVENTS__SUNSET_DAYS\` before \`sunset_at\`, within a minute |
| \`version.called_after_sunset\` | at the first call of a day (UTC) |
| \`key.expiring\`, \`key.expired\` | the days of \`GATEWAY_EVENTS__KEY_EXPIRY_DAYS\` before \`expires_at\`, and at that time, within a minute. What became due while no gateway ran is recorded by the next one. Disabled keys are left out |
| \`key.unused\` | once a day: keys whose last use, or creation, is \`GATEWAY_EVENTS__KEY_UNUSED_DAYS\` ago |
| \`certificate.ending\` | the days of \`GATEWAY_EVENTS__CERTIFICATE_DAYS\` before its end, and after it, within a minute |
| \`limit.reached\` | at the first request of a key that a rate limit or a cap of requests under way refuses, once for each limit in its window, and at most once an hour. Limits of client addresses cause no events |
| \`node.joined\`, \`node.left\` | on PostgreSQL: by the gateway itself, or by the others when its heartbeats stop |
| \`limits_store.*\`, \`database.*\` | by each gateway for itself: unavailable after five seconds without an answer, available after three seconds with answers. Events about the database wait in memory until it is back |
| \`login.refused_repeatedly\` | at the fifth wrong token of a network (IPv4 /24, IPv6 /64) within ten minutes, then once an hour. The audit log has the addresses |

Subjects that change often are bounded: each subject may have six events at once, and one more every five minutes. For limits, all keys of an app share this budget; for logins, all networks share it. In a revision, 100 targets an hour have their own budgets; all others share one. When there is room again, the latest of the skipped events is recorded, with the number of the others in \`left_out\`. One check of keys that expire or are unused records at most 1,000 events of a type. Apps share them evenly, and the last event of an app says how many of its events were left out.`;

export function eventsPage(): string {
  const rows = EVENT_ROWS.map(({ type, level, summary }) => [
    `[${code(type)}](#${anchorOf(type)})`,
    level,
    summary,
  ]);
  const fields = fieldsOf(jsonSchema(EventSchema)).map((field) => [
    code(field.path),
    field.type,
    field.description,
  ]);
  return page(
    'Events',
    INTRODUCTION,
    '## An event',
    table(['Field', 'Type', 'Meaning'], fields),
    '## Types',
    'A filter names types, groups such as `breaker.*`, or `*`.',
    table(['Type', 'Level', 'Meaning'], rows),
    '## When each is recorded',
    NOTICED,
    '## Data',
    ...EVENT_ROWS.flatMap(({ type, data }) => [
      `### ${type}`,
      table(
        ['Field', 'Type', 'Meaning'],
        fieldsOf(jsonSchema(data)).map((field) => [code(field.path), field.type, field.description]),
      ),
    ]),
    '## Delivery to webhooks',
    DELIVERY,
  );
}

/** As Markdown makes it of a heading. */
const anchorOf = (type: string): string => type.replaceAll('.', '');
