/**
 * The policy part `timeouts`: how long the backend may take. proxy/upstream/forward.ts reads it; for a time-out that is
 * left out, the settings apply, which this folder does not know.
 */
import { Type, type Static } from 'typebox';
import { closed } from '../../../model/schema-pieces.ts';
import { definePart, type PartContribution } from '../../part.ts';
import { TIMEOUTS_DOCS } from './docs.ts';

const milliseconds = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000, description }));

const TimeoutsSchema = Type.Object(
  {
    connect_ms: milliseconds('Time to connect to the backend, TLS handshake included (502).'),
    first_byte_ms: milliseconds('Time from the end of the request to the head of the response (504).'),
    idle_ms: milliseconds('Longest silence inside a message or an upgraded connection.'),
    total_ms: milliseconds(
      'The whole exchange, from the head of the request to the last byte of the response (504, or the end of the ' +
        'connection once the response has begun). Upgraded connections have no such limit.',
    ),
  },
  { ...closed, description: 'How long a backend may take.' },
);

export const TIMEOUTS = definePart({
  name: 'timeouts',
  schema: TimeoutsSchema,
  docs: TIMEOUTS_DOCS,
  off: { example: {}, note: 'the settings apply', is: (timeouts) => Object.keys(timeouts).length === 0 },
  mayShadow: false,
  explain: {
    forwarding: (_value, { timeouts }, defaults) => ({
      connect_ms: timeouts?.connectMs ?? defaults.connectTimeoutMs,
      first_byte_ms: timeouts?.firstByteMs ?? defaults.firstByteTimeoutMs,
      idle_ms: timeouts?.idleMs ?? defaults.idleTimeoutMs,
      total_ms: timeouts?.totalMs ?? null,
    }),
  },
  compile: compileTimeouts,
});

function compileTimeouts(timeouts: Static<typeof TimeoutsSchema> | undefined): PartContribution | undefined {
  if (timeouts === undefined) return undefined;
  return {
    data: {
      timeouts: Object.freeze({
        connectMs: timeouts.connect_ms,
        firstByteMs: timeouts.first_byte_ms,
        idleMs: timeouts.idle_ms,
        totalMs: timeouts.total_ms,
      }),
    },
  };
}
