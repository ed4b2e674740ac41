/** The settings of the traffic listener about requests that come slowly; part of settings-table.ts. */
import { integer, type Setting } from './settings-values.ts';

export const SLOW_CLIENT_SETTINGS = {
  GATEWAY_PROXY__HEAD_TIMEOUT_MS: integer(
    { min: 1, max: 86_400_000 },
    {
      default: 10_000,
      description: 'Time in which the whole head of a request must arrive (408).',
    },
  ),
  GATEWAY_PROXY__MIN_HEAD_BYTES_PER_SEC: integer(
    { min: 0, max: 1_000_000_000 },
    {
      default: 0,
      description:
        'Least pace of a request head that does not come at once, within that time (408). 0 is off.',
    },
  ),
  GATEWAY_PROXY__MIN_HEAD_GRACE_MS: integer(
    { min: 1, max: 86_400_000 },
    {
      default: 3_000,
      description: 'How long a request head may be below that pace, at its start and later.',
    },
  ),
  GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC: integer(
    { min: 0, max: 1_000_000_000 },
    {
      default: 0,
      description:
        'Least pace of a request body while the gateway waits for it (408); `min_body_bytes_per_sec` of a policy wins over it. 0 is off.',
    },
  ),
  GATEWAY_PROXY__MIN_BODY_GRACE_MS: integer(
    { min: 1, max: 86_400_000 },
    {
      default: 5_000,
      description: 'How long a request body may be below that pace, at its start and later.',
    },
  ),
  GATEWAY_PROXY__MAX_BUFFERED_REQUEST_BYTES: integer(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    {
      default: 64 * 1024 * 1024,
      description:
        'Memory of each worker for request bodies that `buffer_request_bytes` of a policy holds until they are whole, of one app at most three quarters of what the others leave; beyond it bodies are streamed.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
