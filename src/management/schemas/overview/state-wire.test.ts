/** What another gateway tells of its state is used only if it is one. */
import { expect, it } from 'vitest';
import type { GatewayState } from './state-schema.ts';
import { decodedState, encodedState } from './state-wire.ts';

const off = {
  state: 'off',
  endpoint: null,
  exported: 0,
  dropped: 0,
  failed: 0,
  waiting_bytes: null,
  last_failure: null,
} as const;
const state: GatewayState = {
  uptime_secs: 1,
  workers: { listening: 1, configured: 1 },
  database: {
    driver: 'postgres',
    address: 'postgres://h/d',
    state: 'ok',
    detail: null,
    latency_ms: 0.2,
    clock_ahead_ms: -3,
  },
  limit_store: null,
  limit_counters: { counters: 0, bytes: 0, bytes_peak: 0, bytes_max: 1, evictions: 0 },
  certificates: [],
  breakers: { closed: 0, half_open: 0, open: 0 },
  targets: { in_service: 0, ejected: 0, unhealthy: 0 },
  telemetry: { traces: off, metrics: off, logs: off },
  zone: null,
};
const textOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

it('is read back unchanged from a text without spaces', () => {
  const text = encodedState({ node: 'gateway one', state });
  expect(text).toMatch(/^[\w-]+$/);
  expect(decodedState(text)).toEqual({ node: 'gateway one', state });
});

it.each([
  ['no JSON', 'abc'],
  ['nothing', ''],
  ['null', textOf(null)],
  ['without a name', textOf({ state })],
  ['without a state', textOf({ node: 'a' })],
  ['a state of another version', textOf({ node: 'a', state: { ...state, more: 1 } })],
  ['a wrong value', textOf({ node: 'a', state: { ...state, uptime_secs: -1 } })],
])('%s is no state', (_name, text) => {
  expect(decodedState(text)).toBeUndefined();
});
