/** The policy part `min_body_bytes_per_sec`, which proxy/upstream/request-stream.ts carries out. */
import { Type } from 'typebox';
import { definePart } from '../../part.ts';
import { BODY_PACE_DOCS } from './docs.ts';

export const BODY_PACE = definePart({
  name: 'min_body_bytes_per_sec',
  schema: Type.Integer({
    minimum: 0,
    maximum: 1_000_000_000,
    description:
      'Minimum pace of a request body while the gateway waits for it (408), in place of ' +
      '`GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC`. 0 switches it off, for example for streams.',
  }),
  docs: BODY_PACE_DOCS,
  off: { example: 0, is: (pace) => pace === 0 },
  mayShadow: false,
  explain: { forwarding: (pace, _policy, defaults) => ({ value: pace ?? defaults.minBodyBytesPerSec }) },
  compile: (pace) => (pace === undefined ? undefined : { data: { minBodyBytesPerSec: pace } }),
});
