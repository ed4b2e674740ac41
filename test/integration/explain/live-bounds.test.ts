/** What could go wrong with streams of live traffic: too many, readers that do not read, lost tokens and workers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, startGateway, type TestGateway } from '../../support/gateway.ts';
import { openEvents, type EventClient } from '../../support/clients/event-stream.ts';
import { INSPECTABLE } from '../../support/programs/inspector.ts';
import { crashWorkers } from '../../support/programs/crash-worker.ts';
import { until } from '../../support/measure/until.ts';
import { request } from '../../support/traffic.ts';
import { awakeMs } from '../../support/measure/steady.ts';

let gateway: TestGateway;
const open: EventClient[] = [];

beforeEach(async () => {
  gateway = await startGateway({ env: INSPECTABLE });
});
afterEach(async () => {
  for (const client of open.splice(0)) client.close();
  await gateway.stop();
});

async function watch(token = ADMIN_TOKEN, perSecond = 200): Promise<EventClient> {
  const client = await openEvents(`${gateway.base}/api/v1/live?per_second=${perSecond}`, token);
  open.push(client);
  if (client.status === 200) await until(() => client.of('status').length > 0);
  return client;
}

describe('streams of live traffic', () => {
  it('are bounded for each caller, and a place is free again when a client goes', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => watch()));
    expect(clients.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    const refused = await Promise.all(Array.from({ length: 90 }, () => watch()));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    expect(refused[0]?.headers['retry-after']).toBe('5');
    clients[0]?.close();
    await until(async () => (await watch()).status === 200);
  });

  it('end when the token is revoked, and at shutdown without delay', async () => {
    const { token, id } = await gateway.must('POST', '/admin/tokens', { name: 'v', role: 'viewer' });
    const [revoked, other] = [await watch(token), await watch()];
    await gateway.must('DELETE', `/admin/tokens/${id}`);
    await until(() => revoked.ended, 12_000);
    expect(other.ended).toBe(false);
    const startedMs = awakeMs();
    expect(await gateway.stop()).toBe(0);
    expect(awakeMs() - startedMs).toBeLessThan(4_000);
    expect(other.ended).toBe(true);
  });

  it('go on over a change and the loss of a worker', async () => {
    const client = await watch();
    await gateway.must('POST', '/apps', { name: 'A', slug: 'a', gateway_path: '/a' });
    await crashWorkers(gateway, (title) => title.endsWith('proxy-1'));
    await until(async () => {
      const response = await request(gateway, '/after').catch(() => undefined);
      await new Promise((done) => setTimeout(done, 200));
      return client.of('exchange').some(({ request_id: id }) => id === response?.headers['x-request-id']);
    });
    expect(client.ended).toBe(false);
  });

  it('leave each of them its part, however much the others ask for', async () => {
    await Promise.all(Array.from({ length: 5 }, () => watch()));
    // On a slow machine, too, it is offered more than it asks for.
    const modest = await watch(ADMIN_TOKEN, 5);
    const rare = await openEvents(`${gateway.base}/api/v1/live?per_second=100&path=/rare`, ADMIN_TOKEN);
    open.push(rare);
    await until(() => rare.of('status').length > 0);
    for (let wave = 0; wave < 30; wave++) {
      await Promise.all(Array.from({ length: 60 }, () => request(gateway, '/common')));
      await request(gateway, '/rare');
    }
    await until(() => rare.of('status').at(-1)?.seen === 30);
    expect(rare.of('exchange')).toHaveLength(30);
    await until(() => (modest.of('status').at(-1)?.dropped ?? 0) > 0);
  });
});
