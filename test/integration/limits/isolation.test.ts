/**
 * What callers of one app do never refuses those of another: a flood of invented devices under a limit per header,
 * in a memory that it fills many times over, beside a limit per API key of another app.
 */
import * as net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { bearer, createKey, metric, quietWindowSecs, send } from '../../support/policies.ts';
import { createService } from '../../support/traffic.ts';
import { until } from '../../support/measure/until.ts';

/** The least that the setting takes: 16,384 counters. */
const COUNTER_BYTES = 1_048_576;
const DEVICES = 24_000;
const CONNECTIONS = 8;
const KEYS = 20;
let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([
    startGateway({
      env: {
        GATEWAY_WORKERS: '2',
        GATEWAY_LIMITS__MAX_COUNTER_BYTES: String(COUNTER_BYTES),
        GATEWAY_LOG__ACCESS: 'false',
      },
    }),
    startOrigin(),
  ]);
  const limit = (requests: number, per: string) => ({
    rate_limit: { enabled: true, requests, window_seconds: quietWindowSecs(), per },
  });
  await createService(gateway, 'flooded', origin.port, {
    app: { default_policy: limit(1, 'header:x-device') },
  });
  const policy = { auth: { auth_type: 'api_key' }, ...limit(3, 'api_key') };
  await createService(gateway, 'quiet', origin.port, { app: { default_policy: policy } });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** Requests in a row on one connection, each with another device; resolves when all are answered. */
function flood(from: number, to: number): Promise<void> {
  return new Promise((done, fail) => {
    const socket = net.connect(gateway.proxyPort, '127.0.0.1');
    let answers = 0;
    let tail = '';
    let sent = from;
    const sendMore = (): void => {
      let text = '';
      const end = Math.min(to, sent + 100);
      for (; sent < end; sent++) text += `GET /flooded/v1/x HTTP/1.1\r\nHost: x\r\nX-Device: ${sent}\r\n\r\n`;
      socket.write(text);
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      const parts = (tail + chunk).split('HTTP/1.1 ');
      answers += parts.length - 1;
      tail = parts.at(-1)!.slice(-8);
      if (answers === to - from) {
        socket.destroy();
        done();
      } else if (answers === sent - from) sendMore();
    });
    socket.once('error', fail);
    sendMore();
  });
}

describe('a flood of devices under the limit of one app', { timeout: 120_000 }, () => {
  it('refuses no caller of another app, and shows in the metrics where the pressure is', async () => {
    const call = async (token: string): Promise<number> =>
      (await send(gateway, '/quiet/v1/x', { headers: bearer(token) })).status;
    const keys = await Promise.all(Array.from({ length: KEYS }, () => createKey(gateway, 'quiet')));
    const [old, fresh] = [keys.slice(0, KEYS / 2), keys.slice(KEYS / 2)];
    for (const { token } of old) expect(await call(token)).toBe(200);
    const part = DEVICES / CONNECTIONS;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, index) => flood(index * part, (index + 1) * part)),
    );
    const evictions = await metric(gateway, 'headgate_limit_evictions_total', { level: 'app' });
    expect(evictions).toBeGreaterThan(0);
    for (const { token } of fresh) {
      const statuses = [await call(token), await call(token), await call(token), await call(token)];
      expect(statuses).toEqual([200, 200, 200, 429]);
    }
    // What was counted before is still counted.
    for (const { token } of old) {
      expect([await call(token), await call(token), await call(token)]).toEqual([200, 200, 429]);
    }
    expect(await metric(gateway, 'headgate_limit_memory_bytes_max')).toBe(COUNTER_BYTES);
    const bytes = await metric(gateway, 'headgate_limit_memory_bytes');
    expect(bytes).toBeLessThanOrEqual(COUNTER_BYTES);
    expect(bytes).toBeGreaterThan(COUNTER_BYTES / 2);
    expect(await metric(gateway, 'headgate_limit_memory_bytes_peak')).toBeGreaterThanOrEqual(bytes);
    expect(await metric(gateway, 'headgate_limit_counters')).toBeGreaterThan(10_000);
    const warning = await until(() =>
      gateway.logs().find(({ msg }) => String(msg).startsWith('the memory of limit counters is full')),
    );
    expect(warning['limit']).toMatch(/^app:.* per header:x-device$/);
  });
});
