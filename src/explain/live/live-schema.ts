/** The events of a stream of live traffic, as its readers get them. */
import { Type, type Static } from 'typebox';
import { CALLER_KINDS } from '../../model/auth/caller-kinds.ts';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const labelled = (label: string) => nullable(Type.Object({ id: text, [label]: text }, closed));

export const LiveExchangeSchema = Type.Object(
  {
    id: Type.String({
      description: 'Unique on this gateway; `GET /api/v1/live/{id}` explains the exchange.',
    }),
    request_id: Type.String({ description: 'Request id, as in `X-Request-Id` of the response.' }),
    trace_id: nullable(Type.String({ description: 'null while traces are not exported.' })),
    time: dateTime('When the exchange began.'),
    node: Type.String({ description: 'Id of the gateway.' }),
    worker: count,
    protocol: text,
    method: Type.String({ description: 'Empty when the request could not be read that far.' }),
    host: text,
    path: Type.String({ description: 'Path without the query, which is not shown.' }),
    status: nullable(Type.Integer({ description: 'null: none was sent. 499: the client went away before.' })),
    code: nullable(Type.String({ description: 'Why it was denied or failed.' })),
    app: labelled('slug'),
    version: labelled('version'),
    revision: labelled('revision'),
    endpoint: nullable(
      Type.Object({ id: text, method: text, path: Type.String({ description: 'Template.' }) }, closed),
    ),
    caller: nullable(
      Type.Object(
        {
          kind: oneOf(CALLER_KINDS),
          id: Type.String({
            description: 'Id of the key, also of one that was refused, or subject of the token.',
          }),
          name: text,
        },
        closed,
      ),
    ),
    client_ip: text,
    user_agent: text,
    aborted: Type.Boolean({ description: 'It ended before its response was complete.' }),
    duration_ms: Type.Number(),
    upstream_ms: nullable(
      Type.Number({
        description: 'Time from sending the request to the head of the response of the backend.',
      }),
    ),
    attempts: Type.Integer({ minimum: 0, description: 'At a backend.' }),
    bytes_in: count,
    bytes_out: count,
    explained: Type.Boolean({ description: 'Its explanation is kept for a while.' }),
  },
  { ...closed, title: 'LiveExchange', description: 'Data of an event `exchange`: an exchange has ended.' },
);
export type LiveExchange = Static<typeof LiveExchangeSchema>;

const nodeName = { id: text, name: text };

export const LiveStatusSchema = Type.Object(
  {
    node: Type.Object(nodeName, { ...closed, description: 'The gateway whose traffic the stream shows.' }),
    other_nodes: nullable(
      Type.Array(Type.Object(nodeName, closed), {
        description:
          'Gateways with the same database, each with a stream of its own. null: cannot be said now.',
      }),
    ),
    per_second: Type.Integer({ description: 'Most exchanges that are shown in a second, on average.' }),
    resumed: Type.Boolean({ description: 'The stream continues the one that `Last-Event-ID` names.' }),
    seconds: Type.Number({ description: 'Since the status before.' }),
    seen_per_second: Type.Number({ description: 'Exchanges that passed the filter, in these seconds.' }),
    shown_per_second: Type.Number(),
    seen: Type.Integer({ description: 'Since the stream began, as are the next three.' }),
    shown: count,
    dropped: Type.Integer({ description: 'Seen and not shown, because of `per_second`.' }),
    lost: Type.Integer({ description: 'Not sent, since the reader was too slow.' }),
  },
  { ...closed, title: 'LiveStatus', description: 'Data of an event `status`, every five seconds.' },
);
export type LiveStatus = Static<typeof LiveStatusSchema>;
