/** What counts as delivered, and where nothing is sent. Receivers are real. */
import type { LookupFunction } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../../test/support/backends/origin.ts';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { retryAfterOf, WebhookHttp } from './webhook-http.ts';

const NEVER = new AbortController().signal;
const toLoopback: LookupFunction = (_host, _options, callback) =>
  callback(null, [{ address: '127.0.0.1', family: 4 }]);

let origin: Origin;
beforeAll(async () => {
  origin = await startOrigin((request, response) => {
    const status = Number(request.url?.slice(1));
    response.writeHead(status, { 'retry-after': '2' });
    // More than is read of an answer.
    if (status === 200) for (let part = 0; part < 64; part += 1) response.write(Buffer.alloc(16_384));
    response.end();
  });
});
afterAll(() => origin.close());

async function send(path: string, { deny = [] as string[], host = '127.0.0.1' } = {}) {
  const own = new OwnListeners(createOwnPorts(), systemClock);
  const egress = new Egress({ allow: [], deny, unixFolders: [] }, own);
  const http = new WebhookHttp(egress, systemClock, 2_000, toLoopback);
  try {
    return await http.send({ url: `http://${host}:${origin.port}${path}`, headers: {}, body: '{}' }, NEVER);
  } finally {
    await http.close();
  }
}

describe('an answer', () => {
  it.each([
    [200, 'delivered', undefined],
    [204, 'delivered', undefined],
    [302, 'refused', undefined],
    [400, 'refused', undefined],
    [408, 'unavailable', 2_000],
    [410, 'gone', undefined],
    [429, 'unavailable', 2_000],
    [500, 'unavailable', 2_000],
    [503, 'unavailable', 2_000],
  ])('%i is %s', async (status, result, retryAfterMs) => {
    expect(await send(`/${status}`)).toMatchObject({ status, result, retryAfterMs });
  });

  it.each([
    ['3', 3_000],
    ['Thu, 01 Jan 1970 00:00:09 GMT', 8_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', undefined],
    ['99999999', 3_600_000],
    ['soon', undefined],
    ['', undefined],
  ])('with Retry-After %j asks for %s', (value, expected) => {
    expect(retryAfterOf(value, 1_000)).toBe(expected);
  });
});

describe('the rules of egress', () => {
  it('hold for the address that a name leads to', async () => {
    const before = origin.seen.length;
    expect(await send('/204', { host: 'receiver.test' })).toMatchObject({ result: 'delivered' });
    const denied = await send('/204', { host: 'receiver.test', deny: ['127.0.0.0/8'] });
    expect(denied).toMatchObject({ result: 'unavailable', status: null });
    expect(denied.error).toMatch(/127\.0\.0\.1 is denied by GATEWAY_EGRESS__DENY/);
    expect(origin.seen).toHaveLength(before + 1);
  });

  it('hold for an address in the URL', async () => {
    expect((await send('/204', { deny: ['127.0.0.0/8'] })).error).toMatch(/is denied/);
  });
});
