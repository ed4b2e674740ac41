/**
 * Events and webhooks through the started program, with receivers that are slow, dead, forgetful or have enough: what
 * arrives, in which order, signed with what; what becomes of the rest; and that a gateway that is killed forgets none.
 */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startWebhookReceiver,
  type Delivery,
  type Reply,
  type WebhookReceiver,
} from '../../support/backends/webhook-receiver.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';

const SKEWED_CLOCK = resolve(import.meta.dirname, '../../support/measure/skewed-clock.cjs');
const ENV = {
  GATEWAY_WEBHOOKS__TIMEOUT_MS: '400',
  GATEWAY_WEBHOOKS__MAX_TRIES: '6',
  GATEWAY_WEBHOOKS__RETRY_MIN_MS: '10',
  GATEWAY_WEBHOOKS__RETRY_MAX_MS: '40',
};

let gateway: TestGateway;
const receivers: WebhookReceiver[] = [];
beforeAll(async () => {
  gateway = await startGateway({ env: ENV });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function receiver(reply?: (delivery: Delivery) => Reply): Promise<WebhookReceiver> {
  const started = await startWebhookReceiver(reply);
  receivers.push(started);
  return started;
}

let made = 0;
/** What the tests cause: on PostgreSQL gateways also tell that they have joined. */
const events = ['config.*'];
/** A webhook for that receiver; gone with the test that made it, if it deletes it. */
const webhook = (to: WebhookReceiver, fields: object = {}) => {
  const url = `http://127.0.0.1:${to.port}/in`;
  return gateway.must('POST', '/webhooks', { name: 'hook', url, events, ...fields });
};
const app = (name = `a${++made}`) =>
  gateway.must('POST', '/apps', { name, slug: name, gateway_path: `/${name}` });
const stateOf = async (id: string) =>
  (await gateway.must('GET', '/webhook-deliveries')).find(
    (state: { readonly webhook_id: string }) => state.webhook_id === id,
  );
const letters = (id: string) => gateway.must('GET', `/webhooks/${id}/dead-letters`);
const remove = (id: string) => gateway.must('DELETE', `/webhooks/${id}`);

describe('a delivery', () => {
  const given = `whsec_${Buffer.from('thirty-two bytes that one brings').toString('base64')}`;
  it.each([
    ['that was shown once', {}],
    ['that the caller gave', { secret: given }],
  ])('is the event of a write, signed with the secret %s, which is stored sealed', async (_which, fields) => {
    const to = await receiver();
    const { id, secret } = await webhook(to, fields);
    if ('secret' in fields) expect(secret).toBe(given);
    const { id: appId } = await app();
    await until(() => to.taken.length > 0);
    const [first] = to.taken;
    expect(first?.isSignedWith(secret)).toBe(true);
    expect(first?.id).toBe(first?.event.id);
    expect(first?.event).toMatchObject({
      type: 'config.changed',
      app_id: appId,
      subject: { kind: 'app', id: appId },
      data: { action: 'app.create', actor: 'environment', records: [{ change: 'created' }] },
    });
    expect(Math.abs(Number(first?.headers['webhook-timestamp']) - Date.now() / 1000)).toBeLessThan(60);
    await until(async () => (await stateOf(id)).delivered === 1);
    const shown = [
      await gateway.must('GET', '/webhooks'),
      await gateway.must('GET', `/webhooks/${id}`),
      await gateway.must('GET', '/audit'),
    ];
    const bytes = readdirSync(gateway.folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
    expect(JSON.stringify(shown) + bytes.join('') + gateway.output()).not.toContain(secret.slice(8, 40));
    await remove(id);
  });

  it('has two signatures after a rotation', async () => {
    const to = await receiver();
    const { id, secret: old } = await webhook(to);
    const { secret } = await gateway.must('POST', `/webhooks/${id}/rotate`, { overlap_secs: 60 });
    await app();
    await until(() => to.taken.length > 0);
    expect([to.taken[0]?.isSignedWith(secret, 0), to.taken[0]?.isSignedWith(old, 1)]).toEqual([true, true]);
    await gateway.must('POST', `/webhooks/${id}/rotate`, { overlap_secs: 0 });
    await app();
    await until(() => to.taken.length > 1);
    expect(to.taken[1]?.signatures).toHaveLength(1);
    await remove(id);
  });

  it('has both signatures for as long as was asked for, also where the gateway has a wrong clock', async () => {
    const env = { ...ENV, NODE_OPTIONS: `--require=${SKEWED_CLOCK}`, TEST_CLOCK_SKEW_MS: '-3600000' };
    const late = await startGateway({ env });
    const to = await receiver();
    try {
      const url = `http://127.0.0.1:${to.port}/in`;
      const { id, secret: old } = await late.must('POST', '/webhooks', { name: 'hook', url, events });
      await late.must('POST', `/webhooks/${id}/rotate`, { overlap_secs: 60 });
      await late.must('POST', '/apps', { name: 'late', slug: 'late', gateway_path: '/late' });
      await until(() => to.taken.length > 0);
      expect(to.taken[0]?.isSignedWith(old, 1)).toBe(true);
    } finally {
      await late.stop();
    }
  });

  it('comes for the wanted types and apps only', async () => {
    const to = await receiver();
    const one = await app();
    const { id } = await webhook(to, { events: ['config.*'], app_ids: [one.slug] });
    const { id: other } = await webhook(to, { events: ['key.*'] });
    await app();
    await gateway.must('PATCH', `/apps/${one.id}`, { description: 'wanted' });
    await until(() => to.taken.length > 0);
    expect(to.taken.map(({ event }) => event.subject.id)).toEqual([one.id]);
    await Promise.all([id, other].map(remove));
  });
});

describe('a receiver that', () => {
  it('fails now and then gets every event in order, again with the same id', async () => {
    let count = 0;
    const to = await receiver(() => (++count % 7 === 3 ? (count % 2 === 0 ? 503 : 'never') : undefined));
    const { id } = await webhook(to);
    const names = Array.from({ length: 60 }, () => `o${++made}`);
    for (const name of names) await app(name);
    // In the order in which each came first: an answer that comes too late on a busy machine has its event come again.
    const arrived = (): string[] => [
      ...new Map(to.taken.map(({ id: eventId, event }) => [eventId, event.subject.name])).values(),
    ];
    await until(() => arrived().length >= names.length);
    expect(arrived()).toEqual(names);
    expect(to.all.length).toBeGreaterThan(names.length);
    expect(new Set(to.all.map((delivery) => delivery.id)).size).toBe(names.length);
    await remove(id);
  });

  it('never answers delays neither a write nor another webhook', async () => {
    const [dead, well] = [await receiver(() => 'never'), await receiver()];
    const { id } = await webhook(dead);
    const { id: other } = await webhook(well);
    await app();
    await until(() => dead.all.length > 0);
    const startMs = performance.now();
    for (let index = 0; index < 5; index += 1) await app();
    await until(() => well.taken.length === 6);
    // Less than one time-out of the dead one.
    expect(performance.now() - startMs).toBeLessThan(400 * 5);
    await until(async () => (await stateOf(id)).failures > 0);
    expect(await stateOf(id)).toMatchObject({ state: 'failing', last_error: 'no answer within 400 ms' });
    await Promise.all([id, other].map(remove));
  });

  it('refuses an event gets the events after it; the dead letter is sent again on demand', async () => {
    let isSick = true;
    const to = await receiver(({ event }) => (isSick && event.subject.name.startsWith('p') ? 422 : 204));
    const { id } = await webhook(to);
    await app(`p${++made}`);
    await app(`q${++made}`);
    await until(() => to.taken.length === 1);
    expect(to.taken[0]?.event.subject.name).toBe(`q${made}`);
    expect(to.all).toHaveLength(6);
    const [letter] = await letters(id);
    expect(letter).toMatchObject({ tries: 5, error: 'it answered 422', is_resent: false });
    const again = await gateway.must('POST', `/webhooks/${id}/resend`);
    expect(again).toEqual({ dead_letters: 1 });
    await until(async () => (await letters(id))[0]?.tries === 1);
    isSick = false;
    await gateway.must('POST', `/webhooks/${id}/dead-letters/${letter.event.id}/resend`);
    await until(() => to.taken.length === 2);
    expect(to.taken[1]?.id).toBe(letter.event.id);
    await until(async () => (await letters(id)).length === 0);
    const missing = await gateway.api('POST', `/webhooks/${id}/dead-letters/${letter.event.id}/resend`);
    expect(missing.status).toBe(404);
    await remove(id);
  });

  it('redirects is not followed, and what it did not get can be forgotten', async () => {
    const elsewhere = await receiver();
    const to = await receiver(() => ({
      status: 307,
      headers: { location: `http://127.0.0.1:${elsewhere.port}/` },
    }));
    const { id } = await webhook(to);
    await app();
    await until(async () => (await letters(id)).length === 1);
    expect(elsewhere.all).toEqual([]);
    expect((await letters(id))[0].error).toMatch(/307; redirects are not followed/);
    expect(await gateway.must('DELETE', `/webhooks/${id}/dead-letters`)).toEqual({ dead_letters: 1 });
    await remove(id);
  });

  it('is gone switches its webhook off, in the audit log; what waits arrives once it is back', async () => {
    let isGone = true;
    const to = await receiver(() => (isGone ? 410 : 204));
    const { id } = await webhook(to);
    await app();
    await until(async () => !(await gateway.must('GET', `/webhooks/${id}`)).is_active);
    expect(await gateway.must('GET', `/webhooks/${id}`)).toMatchObject({
      disabled_reason: expect.stringContaining('410'),
    });
    const [entry] = await gateway.must('GET', `/audit?resource_id=${id}&actor=system`);
    expect(entry).toMatchObject({ action: 'webhook.update', change: { is_active: false } });
    isGone = false;
    await gateway.must('PATCH', `/webhooks/${id}`, { is_active: true });
    await until(() => to.taken.length === 1);
    expect(to.all.map((delivery) => delivery.id)).toEqual([to.all[0]?.id, to.all[0]?.id]);
    await remove(id);
  });

  it('asks for time is left alone for that long', async () => {
    let isBusy = true;
    const to = await receiver(() => (isBusy ? { status: 429, headers: { 'retry-after': '1' } } : 204));
    const { id } = await webhook(to);
    await app();
    await until(() => to.all.length === 1);
    isBusy = false;
    const startMs = performance.now();
    await until(() => to.taken.length === 1);
    expect(performance.now() - startMs).toBeGreaterThan(800);
    await remove(id);
  });
});

describe('the API of webhooks', () => {
  it('tests a webhook at once, independently of its events', async () => {
    const to = await receiver();
    const { id, secret } = await webhook(to, { is_active: false });
    const result = await gateway.must('POST', `/webhooks/${id}/test`);
    expect(result).toMatchObject({ is_delivered: true, status: 204, error: null });
    expect(to.taken[0]?.isSignedWith(secret)).toBe(true);
    expect(to.taken[0]?.event).toMatchObject({ id: result.event_id, type: 'webhook.test' });
    await gateway.must('PATCH', `/webhooks/${id}`, { url: 'http://127.0.0.1:9/' });
    expect(await gateway.must('POST', `/webhooks/${id}/test`)).toMatchObject({
      is_delivered: false,
      status: null,
      error: expect.stringContaining('ECONNREFUSED'),
    });
    await remove(id);
  });

  it.each([
    [{ url: 'ftp://a.test/' }, '/url'],
    [{ url: 'http://user:pass@a.test/' }, '/url'],
    [{ url: 'http://169.254.169.254/latest' }, '/url'],
    [{ events: ['key.*', 'keys.*'] }, '/events/1', /did you mean "key\.\*"\?$/],
    [{ events: ['config.change'] }, '/events/0', /did you mean "config\.changed"\?$/],
    [{ events: ['nothing.like.it'] }, '/events/0', /or a group such as key\.\*$/],
    [{ app_ids: ['no-such-app'] }, '/app_ids/0'],
    [{ secret: 'whsec_c2hvcnQ=' }, '/secret'],
  ])('refuses %j', async (fields, pointer, detail = /./) => {
    const body = { name: 'x', url: 'https://a.test/', ...fields };
    const { status, body: problem } = await gateway.api('POST', '/webhooks', body);
    expect(status).toBe(422);
    expect(problem.errors.map((error: { readonly pointer: string }) => error.pointer)).toEqual([pointer]);
    expect(problem.errors[0].detail).toMatch(detail);
  });

  it('lets viewers read and only admins write', async () => {
    const { token } = await gateway.must('POST', '/admin/tokens', { name: 'e', role: 'editor' });
    const headers = { authorization: `Bearer ${token}` };
    expect((await gateway.api('GET', '/webhooks', undefined, headers)).status).toBe(200);
    const body = { name: 'x', url: 'https://a.test/' };
    expect((await gateway.api('POST', '/webhooks', body, headers)).status).toBe(403);
  });

  it.each(['viewer', 'editor'])(
    'hides path and query of its URL from the role %s and the audit log',
    async (role) => {
      const base = 'https://chat.test:8443';
      const hook = { name: 'chat', is_active: false };
      const { id, url } = await gateway.must('POST', '/webhooks', {
        ...hook,
        url: `${base}/T0/hush?key=hush`,
      });
      expect(url).toBe(`${base}/T0/hush?key=hush`);
      const { token } = await gateway.must('POST', '/admin/tokens', { name: role, role });
      const headers = { authorization: `Bearer ${token}` };
      const get = (path: string, as = headers) => gateway.api('GET', path, undefined, as);
      const seen = [
        await get('/webhooks?limit=500'),
        await get(`/webhooks/${id}`),
        await get('/webhook-deliveries'),
      ];
      expect(seen.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(seen[1]?.body.data.url).toBe(`${base}/********`);
      await gateway.must('PATCH', `/webhooks/${id}`, { url: `${base}/T0/hush-2` });
      const changes = await gateway.must('GET', `/audit?resource_id=${id}`);
      const urls = changes.map(({ change }: { readonly change: { readonly url: string } }) => change.url);
      expect(urls).toEqual([`${base}/********`, `${base}/********`]);
      expect(JSON.stringify(seen.map(({ body, headers: fields }) => [body, [...fields]]))).not.toContain(
        'hush',
      );
      expect((await gateway.must('GET', `/webhooks/${id}`)).url).toBe(`${base}/T0/hush-2`);
      await gateway.must('PATCH', `/webhooks/${id}`, { url: base });
      expect((await get(`/webhooks/${id}`)).body.data.url).toBe(`${base}/`);
      await remove(id);
    },
  );
});

describe('a gateway that is killed', () => {
  it('has the event of every write that it answered, and of no other', async () => {
    const taken: Delivery[] = [];
    const to = await receiver((delivery) => {
      taken.push(delivery);
      return undefined;
    });
    const folder = gateway.folder;
    const env = { ...ENV, GATEWAY_ADMIN_TOKEN: 'killed-admin-token-0123456789abcdef0123' };
    const headers = { authorization: `Bearer ${env.GATEWAY_ADMIN_TOKEN}` };
    mkdirSync(join(folder, 'killed'));
    const start = () => startGateway({ env, folder: join(folder, 'killed') });
    let killed = await start();
    const url = `http://127.0.0.1:${to.port}/`;
    await killed.api('POST', '/webhooks', { name: 'k', url, events }, headers);
    const answered: string[] = [];
    for (let round = 0; round < 2; round += 1) {
      const writes = Promise.allSettled(
        Array.from({ length: 25 }, async (_, index) => {
          const name = `k${round}-${index}`;
          const body = { name, slug: name, gateway_path: `/${name}` };
          const { status } = await killed.api('POST', '/apps', body, headers);
          if (status === 201) answered.push(name);
        }),
      );
      await until(() => answered.length > round * 25 + 3);
      await killed.kill();
      await writes;
      killed = await start();
    }
    const { body } = await killed.api('GET', '/apps?limit=500', undefined, headers);
    const stored: string[] = body.data.map(({ slug }: { readonly slug: string }) => slug);
    expect(stored).toEqual(expect.arrayContaining(answered));
    const names = () => new Set(taken.map(({ event }) => event.subject.name));
    await until(() => stored.every((name) => names().has(name)), 20_000);
    expect([...names()].toSorted()).toEqual(stored.toSorted());
    // Firsts are in order, whatever came twice.
    const firsts = [...new Set(taken.map(({ id }) => id))];
    expect(firsts).toEqual(firsts.toSorted());
    await killed.stop();
  });
});
