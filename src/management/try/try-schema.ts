/** One real request through the gateway's own listener: the body and the answer of `POST /api/v1/try`. */
import { Type, type Static } from 'typebox';
import {
  METHOD_PATTERN,
  ONE_LINE_PATTERN,
  SENT_PATH_PATTERN,
  VISIBLE_ASCII_PATTERN,
} from '../../model/patterns.ts';
import { closed, nullable, oneOf } from '../../model/schema-pieces.ts';

/** Limit of the sent body in characters, and of the shown one in bytes. */
export const TRY_BODY_MAX = 65_536;
const TRY_TIMEOUT_MAX_MS = 30_000;
export const TRY_TIMEOUT_DEFAULT_MS = 10_000;
const TRY_HEADERS_MAX = 100;

const field = Type.Array(Type.String({ maxLength: 16_384, pattern: ONE_LINE_PATTERN }), {
  minItems: 2,
  maxItems: 2,
  description: 'Name and value.',
});

export const TryInputSchema = Type.Object(
  {
    method: Type.String({
      pattern: METHOD_PATTERN,
      description: 'Any method except CONNECT; it is sent in upper case.',
    }),
    path: Type.String({
      pattern: SENT_PATH_PATTERN,
      maxLength: 16_384,
      description: 'Path with its query, percent-encoded, as it is sent.',
    }),
    host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: VISIBLE_ASCII_PATTERN,
        description: 'The Host field; with TLS, its name also selects the certificate. Default: `localhost`.',
      }),
    ),
    headers: Type.Optional(
      Type.Array(field, {
        maxItems: TRY_HEADERS_MAX,
        description:
          'Header fields in their order. The gateway itself sets the fields about the connection and the length of the body.',
      }),
    ),
    body: Type.Optional(Type.String({ maxLength: TRY_BODY_MAX, description: 'Sent as UTF-8.' })),
    timeout_ms: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: TRY_TIMEOUT_MAX_MS,
        default: TRY_TIMEOUT_DEFAULT_MS,
        description: 'Milliseconds in which the whole answer must arrive.',
      }),
    ),
  },
  { ...closed, title: 'TryInput', description: 'A request as a client would send it, in HTTP/1.1.' },
);
export type TryInput = Static<typeof TryInputSchema>;

export const TryOutcomeSchema = Type.Object(
  {
    url: Type.String({
      description:
        'URL to which it was sent: the address of the traffic listener on this machine, with the path.',
    }),
    status: nullable(
      Type.Integer({ description: 'Status of the answer. null: there was none; see `problem`.' }),
    ),
    headers: Type.Array(field, { description: 'Header fields of the answer, in their order.' }),
    body: Type.String({ description: 'The first 65,536 bytes of the body.' }),
    body_encoding: oneOf(['text', 'base64'], { description: '`base64`: the bytes are not UTF-8.' }),
    truncated: Type.Boolean({ description: 'Whether the body was longer, or did not arrive in full.' }),
    problem: nullable(
      Type.String({
        description:
          'Why there is no answer, or only a part of it. null: it is complete, or was only cut here.',
      }),
    ),
    duration_ms: Type.Number({ minimum: 0, description: 'Time from connecting to the end of the answer.' }),
    request_id: nullable(
      Type.String({ description: 'Id of the exchange, as in the access log and for explain.' }),
    ),
    client_address: nullable(
      Type.String({
        description:
          'Address that policies saw as the client’s: the address of this gateway, not of the caller.',
      }),
    ),
    denial: nullable(
      Type.Object(
        {
          code: nullable(Type.String({ description: 'Error code.' })),
          stage: nullable(Type.String({ description: 'Stage that decided.' })),
          detail: nullable(Type.String({ description: 'The reason, for operators.' })),
          fix: nullable(Type.String({ description: 'The change that would let the request pass.' })),
        },
        { ...closed, title: 'TryDenial' },
      ),
    ),
  },
  { ...closed, title: 'TryOutcome', description: 'What a client would have received.' },
);
export type TryOutcome = Static<typeof TryOutcomeSchema>;
