import { expect, it } from 'vitest';
import { valueLines } from './value-lines.ts';

it.each([
  [
    { enabled: true, requests: 5, window_seconds: 60 },
    ['enabled: true', 'requests: 5', 'window_seconds: 60'],
  ],
  [['orders:read', 'orders:write'], ['orders:read, orders:write']],
  [[], ['none']],
  [1024, ['1024']],
  [
    {
      buffer_request_bytes: { value: 0, level: 'global', source_id: null },
      timeouts: { connect_ms: 5000, total_ms: null, level: 'app', source_id: '01a2' },
      retries: { max: 1, on: ['connect', 'reset'], level: 'global', source_id: null },
    },
    ['buffer_request_bytes: 0', 'timeouts: connect_ms 5000', 'retries: max 1, on connect, reset'],
  ],
])('tells %j in lines', (value, lines) => {
  expect(valueLines(value)).toEqual(lines);
});
