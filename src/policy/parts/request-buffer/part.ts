/** The policy part `buffer_request_bytes`, which proxy/io/request-buffer.ts carries out. */
import { Type } from 'typebox';
import { definePart } from '../../part.ts';
import { REQUEST_BUFFER_DOCS } from './docs.ts';

const BUFFER_REQUEST_BYTES_MAX = 64 * 1024 * 1024;

export const REQUEST_BUFFER = definePart({
  name: 'buffer_request_bytes',
  schema: Type.Integer({
    minimum: 0,
    maximum: BUFFER_REQUEST_BYTES_MAX,
    description:
      'Bytes of a request body to wait for before the request is sent to the backend, so that a slow client keeps no ' +
      'connection to the backend busy. The rest of a longer body is streamed. 0 switches it off.',
  }),
  docs: REQUEST_BUFFER_DOCS,
  off: { example: 0, is: (bytes) => bytes === 0 },
  mayShadow: false,
  explain: { forwarding: (bytes) => ({ value: bytes ?? 0 }) },
  compile: (bytes) => (bytes === undefined ? undefined : { data: { bufferRequestBytes: bytes } }),
});
