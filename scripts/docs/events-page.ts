/**
 * docs/reference/events.md: every type of event with its data, from the catalogue, and how webhooks send them. Pure.
 */
import { EVENT_ROWS, EventSchema } from '../../src/model/events/events.ts';
import { jsonSchema } from '../../src/model/json-schema.ts';
import { code, page, table } from './markdown.ts';
import { fieldsOf } from './schema-fields.ts';

const INTRODUCTION = `The gateway records what happens to it as events: who changed the configuration, what failed and what came back, what ends
soon. [Webhooks](../how-to/webhooks.md) get them, and they can be [watched](../how-to/watch-events.md). Events are kept for \`GATEWAY_EVENTS__MAX_DAYS\` days, and at most
\`GATEWAY_EVENTS__MAX_EVENTS\` of them: where there are more, the oldest of the types that have most go, so that many changes of the
configuration leave what others have told its room. They hold no secrets and no data of clients.

An event of a write is stored in the transaction of the write: neither is ever there without the other. Other events are
recorded by the gateway that notices them; while the database is away, up to 10,000 wait in memory.`;

const DELIVERY = `A webhook is an address that gets events as a \`POST\`, in the form of
[Standard Webhooks](https://www.standardwebhooks.com/): the body is the event as above. Libraries for many languages
check the signature.

| Header | Value |
| --- | --- |
| \`webhook-id\` | the id of the event; the same whenever it is sent again |
| \`webhook-timestamp\` | when this request was made, in seconds since 1970, by the clock of the database |
| \`webhook-signature\` | \`v1,\` and the base64 of HMAC-SHA256 over \`{webhook-id}.{webhook-timestamp}.{body}\`, with the bytes that stand in base64 behind \`whsec_\` in the secret. After a rotation there are two, separated by a space |

- **Order.** Events arrive in the order of their ids. One that fails holds up those behind it until it arrives or is given up.
- **At least once.** An event may arrive again, with the same \`webhook-id\`: keep the ids of some minutes and leave out what is known.
- **What counts.** 2xx within \`GATEWAY_WEBHOOKS__TIMEOUT_MS\` is a delivery. Redirects are not followed; the body of the answer is ignored.
- **Tried again** is what gets no answer, 5xx, 408, 421, 425 or 429: after \`GATEWAY_WEBHOOKS__RETRY_MIN_MS\`, and twice as long after each further failure, up to \`GATEWAY_WEBHOOKS__RETRY_MAX_MS\`, less up to half of it at random. \`Retry-After\` is kept, up to an hour. After \`GATEWAY_WEBHOOKS__MAX_TRIES\` tries the event is a dead letter.
- **Refused** is what gets any other status: it is sent five times at most, and becomes a dead letter.
- **410** switches the webhook off.
- **Dead letters** are listed, sent again or forgotten by call, command or console; each webhook keeps its newest 10,000.
- **Apart.** Each webhook is sent to by one gateway at a time, and by itself: a receiver that is slow or dead holds up no other and no write. The place of a gateway that was killed is taken within seconds.
- **Where to.** The rules of [egress](backend-connections.md) apply, judged by the address that is connected to. Over TLS, the receiver needs a certificate of an authority that Node.js trusts; \`NODE_EXTRA_CA_CERTS\`, set at the start, names a file (PEM) with others.
- There are at most 100 webhooks. Where the configuration comes from files there are none.`;

const NOTICED = `Events of writes are told at once. Others are noticed by a gateway, and told once, however many gateways notice them:

| Types | Noticed |
| --- | --- |
| \`breaker.*\` | at once, by the gateway whose breaker it is. The same change on several gateways within five seconds is one event. A trial that fails is not told |
| \`target.*\` | within a second, in the same way |
| \`version.deprecated\` | within five seconds after the write, or after the time in \`deprecated_at\` |
| \`version.sunset_near\` | the days of \`GATEWAY_EVENTS__SUNSET_DAYS\` before \`sunset_at\`, within a minute |
| \`version.called_after_sunset\` | at the first call of a day (UTC) |
| \`key.expiring\`, \`key.expired\` | the days of \`GATEWAY_EVENTS__KEY_EXPIRY_DAYS\` before \`expires_at\`, and at it, within a minute; what came due while no gateway ran is told by the next one. Keys that are switched off are left out |
| \`key.unused\` | once a day: keys whose last use, or creation, is \`GATEWAY_EVENTS__KEY_UNUSED_DAYS\` ago |
| \`certificate.ending\` | the days of \`GATEWAY_EVENTS__CERTIFICATE_DAYS\` before its end, and after it, within a minute |
| \`limit.reached\` | at the first request of a key that a rate limit or a cap of requests under way refuses, once for each limit in its window, and at most once an hour. Limits of client addresses are not told |
| \`node.joined\`, \`node.left\` | on PostgreSQL: by the gateway itself, or by the others when its heartbeat ceases |
| \`limits_store.*\`, \`database.*\` | by each gateway for itself: away after five seconds without an answer, back after three with one. What is noticed of the database waits in memory until it is back |
| \`login.refused_repeatedly\` | at the fifth wrong token of a network (IPv4 /24, IPv6 /64) within ten minutes, then once an hour. The audit log has the addresses |

What flaps is bounded: each subject has six events at once and one more every five minutes; of limits and logins all of an app, or all together, share that. Of a revision, 100 targets an hour have a budget of their own; more share one. The latest of what was left out is told when there is room again, with the number of the others in \`left_out\`. Of keys that end or are unused, at most 1,000 of a type are told in one look; apps share them evenly, and the last one of an app says how many of it there are besides.`;

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
    '## When each is told',
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
