/**
 * Events that time, targets, certificates and the store of limits bring about, through the started program: each comes
 * in `GET /events` with its data. A first gateway lives 100 days ago, so that a second one on its database finds what
 * has ended since.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFleet } from '../../support/backends/target-fleet.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { createKey } from '../../support/policies.ts';
import { CertificateMaker } from '../../support/programs/certificate-maker.ts';
import { startRedis, type TestRedis } from '../../support/programs/redis.ts';
import { getTarget, serviceOver } from '../../support/target-service.ts';
import { createService, revisionPath, versionPath, type Served } from '../../support/traffic.ts';

const PRELOAD = new URL('../../support/measure/shifted-clock.mjs', import.meta.url).pathname;
const DAY_MS = 86_400_000;
const SHIFT_DAYS = -100;
const CERTIFICATE_DAYS = 10;
const AGO_MS = SHIFT_DAYS * DAY_MS;
/** Whole seconds, as a certificate has. */
const START_MS = Math.floor(Date.now() / 1_000) * 1_000;

let folder: string;
let gateway: TestGateway;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sources-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** From the start of this test, by the right clock. */
const inDays = (days: number): string => new Date(START_MS + days * DAY_MS).toISOString();

async function eventsOf(type: string, count = 1): Promise<Served[]> {
  return until(async () => {
    const { body } = await gateway.api('GET', `/events?type=${type}&order=oldest_first`);
    return body.data.length >= count && body.data;
  });
}

describe('a gateway of 100 days ago', () => {
  beforeAll(async () => {
    writeFileSync(join(folder, 'shift'), String(AGO_MS));
    gateway = await startGateway({
      folder,
      env: { NODE_OPTIONS: `--import=${PRELOAD}`, HEADGATE_TEST_CLOCK: join(folder, 'shift') },
    });
  });
  afterAll(() => gateway.stop());

  it('reports which revision became current, and which became current again', async () => {
    await createService(gateway, 'moved', 9);
    await gateway.must('POST', `${versionPath('moved')}/revisions`, {
      revision: 'r2',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: 9,
    });
    const activate = (revision: string) =>
      gateway.must('POST', `${revisionPath('moved', 'v1', revision)}/activate`, { exclusive: true });
    await activate('r2');
    const { id } = await activate('r1');
    const names = { app: 'moved', version: 'v1' };
    const activated = (await eventsOf('revision.activated', 2)).map(({ data }) => data);
    expect(activated).toMatchObject([
      { ...names, revision: 'r1' },
      { ...names, revision: 'r2' },
    ]);
    const back = await eventsOf('revision.rolled_back');
    expect(back).toMatchObject([
      { subject: { kind: 'revision', id, name: 'r1' }, data: { ...names, revision: 'r1', replaced: ['r2'] } },
    ]);
    expect(back[0].data.config_version).toBe(activated[1].config_version + 1);
  });

  it('reports that a target went out of service and returned', async () => {
    const fleet = await startFleet(2);
    const agent = new Agent({ keepAlive: true });
    try {
      await serviceOver(gateway, 'targets', fleet, {
        load_balancing: { slow_start_secs: 0, ejection: { consecutive_failures: 2, base_secs: 1 } },
      });
      const traffic = async (mode: 'failing' | 'well', type: string): Promise<Served[]> => {
        await fleet[1]?.become(mode);
        return until(async () => {
          await getTarget(gateway, agent, '/targets/v1/x');
          const { body } = await gateway.api('GET', `/events?type=${type}`);
          return body.data.length > 0 && body.data;
        });
      };
      const { id } = await gateway.must('GET', revisionPath('targets'));
      const subject = { kind: 'revision', id, name: 'targets v1 r1' };
      const target = `127.0.0.1:${fleet[1]?.port}`;
      const data = { app: 'targets', version: 'v1', revision: 'r1', target };
      expect(await traffic('failing', 'target.ejected')).toMatchObject([
        { subject, data: { ...data, reason: expect.stringMatching(/500|failure/) } },
      ]);
      const [returned] = await traffic('well', 'target.returned');
      expect(returned).toMatchObject({ subject });
      expect(returned.data).toEqual(data);
    } finally {
      agent.destroy();
      await Promise.all(fleet.map((each) => each.close()));
    }
  });

  it('reports that the sunset of a version is near', async () => {
    await createService(gateway, 'keys', 9);
    for (const [name, days] of [
      ['ended', -50],
      ['ending', 2.5],
      ['forgotten', undefined],
    ] as const)
      await createKey(gateway, 'keys', { name, ...(days !== undefined && { expires_at: inDays(days) }) });
    const sunset_at = inDays(SHIFT_DAYS + 5.5);
    await gateway.must('PATCH', versionPath('keys'), { status: 'deprecated', sunset_at });
    // The look of versions is later than the first one at keys, from which the next gateway goes on.
    const [event] = await eventsOf('version.sunset_near');
    expect(event).toMatchObject({
      subject: { kind: 'version', name: 'keys v1' },
      data: { app: 'keys', version: 'v1', sunset_at, days_left: 5 },
    });
  });
});

describe('a gateway of today', () => {
  let redis: TestRedis;
  const maker = new CertificateMaker();
  beforeAll(async () => {
    redis = await startRedis();
    const extensions = ['subjectAltName=DNS:site.test'];
    const { name } = maker.authority('site.test', { days: CERTIFICATE_DAYS, extensions });
    gateway = await startGateway({
      folder,
      env: {
        GATEWAY_REDIS_URL: redis.url,
        GATEWAY_PROXY__TLS__CERT_FILE: join(maker.folder, `${name}.pem`),
        GATEWAY_PROXY__TLS__KEY_FILE: join(maker.folder, `${name}.key`),
      },
    });
    await redis.stop();
  });
  afterAll(async () => {
    await gateway.stop();
    await redis.close();
    maker.remove();
  });

  it('reports which keys have expired, expire soon, and are not used', async () => {
    const [expired] = await eventsOf('key.expired');
    expect(expired).toMatchObject({ subject: { kind: 'token', name: 'ended' } });
    expect(expired.data).toEqual({ app: 'keys', expires_at: inDays(-50) });
    const [expiring] = await eventsOf('key.expiring');
    expect(expiring).toMatchObject({ subject: { kind: 'token', name: 'ending' } });
    expect(expiring.data).toEqual({ app: 'keys', expires_at: inDays(2.5), days_left: 2 });
    const unused = await eventsOf('key.unused', 2);
    const name = expect.stringMatching(/^(ending|forgotten)$/);
    const told = { subject: { name }, data: { app: 'keys', last_used_at: null, days: -SHIFT_DAYS } };
    expect(unused).toMatchObject([told, told]);
  });

  it('reports that a certificate expires', async () => {
    const [event] = await eventsOf('certificate.ending');
    expect(event).toMatchObject({
      subject: { kind: 'certificate', name: 'site.test' },
      data: { listener: 'traffic', names: ['site.test'], days_left: CERTIFICATE_DAYS - 1 },
    });
    const endMs = Date.parse(event.data.expires_at) - CERTIFICATE_DAYS * DAY_MS;
    expect(Math.abs(endMs - START_MS)).toBeLessThan(600_000);
  });

  it('reports that the store of limits is unavailable, and that it is back', async () => {
    const subject = { kind: 'limits_store', id: 'limits_store' };
    const [away] = await eventsOf('limits_store.away');
    expect(away).toMatchObject({ subject, data: { reason: expect.stringMatching(/./) } });
    await redis.start();
    const [back] = await eventsOf('limits_store.back');
    expect(back).toMatchObject({ subject });
    expect(back.data.away_seconds).toBeGreaterThanOrEqual(5);
  });
});
