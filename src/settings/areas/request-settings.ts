/** Settings of requests: how large and how slow they may be. */
import { FULL_SHARES, LESS_MEMORY, memoryShares } from '../memory-shares.ts';
import { integer, type Setting } from '../settings-values.ts';

const KIB = 1024;
const MIB = 1024 * 1024;

export const REQUEST_SETTINGS = {
  GATEWAY_PROXY__MAX_HEAD_BYTES: integer(
    { min: KIB, max: MIB },
    {
      default: 32 * KIB,
      description: 'Maximum bytes of a request’s head: request line and header fields (431).',
    },
  ),
  GATEWAY_PROXY__MAX_INCOMPLETE_HEAD_BYTES: integer(
    { min: KIB, max: Number.MAX_SAFE_INTEGER },
    {
      default: FULL_SHARES.incompleteHeadBytes,
      defaultFor: (facts) => memoryShares(facts).incompleteHeadBytes,
      defaultText: `\`67108864\`, ${LESS_MEMORY}`,
      description:
        'Bytes of memory in each worker for heads of requests that have not arrived completely. Beyond it the oldest large ones are closed (408).',
    },
  ),
  GATEWAY_PROXY__MAX_HEADERS: integer(
    { min: 1, max: 10_000 },
    {
      default: 100,
      description: 'Maximum number of header fields in a request (431).',
    },
  ),
  GATEWAY_PROXY__MAX_TARGET_BYTES: integer(
    { min: 16, max: MIB },
    {
      default: 8 * KIB,
      description: 'Maximum bytes of a request target (414). At most `GATEWAY_PROXY__MAX_HEAD_BYTES`.',
    },
  ),
  GATEWAY_PROXY__MAX_BODY_BYTES: integer(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    {
      default: 0,
      description:
        'Maximum bytes of a request body (413). `max_body_bytes` of a policy replaces it. 0: unlimited, since bodies are streamed.',
    },
  ),
  GATEWAY_PROXY__HEAD_TIMEOUT_MS: integer(
    { min: 1, max: 86_400_000 },
    {
      default: 10_000,
      description: 'Milliseconds in which the whole head of a request must arrive (408).',
    },
  ),
  GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC: integer(
    { min: 0, max: 1_000_000_000 },
    {
      default: 0,
      description:
        'Minimum pace, in bytes per second, of a request head that does not arrive at once (408). 0: off.',
    },
  ),
  GATEWAY_PROXY__MIN_HEAD_GRACE_MS: integer(
    { min: 1, max: 86_400_000 },
    {
      default: 3_000,
      description: 'Milliseconds for which a request head may be slower than that.',
    },
  ),
  GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC: integer(
    { min: 0, max: 1_000_000_000 },
    {
      default: 0,
      description:
        'Minimum pace, in bytes per second, of a request body while the gateway waits for it (408). `min_body_bytes_per_sec` of a policy replaces it. 0: off.',
    },
  ),
  GATEWAY_PROXY__MIN_BODY_GRACE_MS: integer(
    { min: 1, max: 86_400_000 },
    {
      default: 5_000,
      description: 'Milliseconds for which a request body may be slower than that.',
    },
  ),
  GATEWAY_PROXY__MAX_BUFFERED_REQUEST_BYTES: integer(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    {
      default: FULL_SHARES.bufferedRequestBytes,
      defaultFor: (facts) => memoryShares(facts).bufferedRequestBytes,
      defaultText: `\`67108864\`, ${LESS_MEMORY}`,
      description:
        'Bytes of memory in each worker for request bodies that `buffer_request_bytes` of a policy holds. One app gets at most three quarters of what the others leave. Beyond it bodies are streamed.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
