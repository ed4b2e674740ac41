/**
 * Versions on their way out: the announced day, and the link to what takes their place, in step with the configuration.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import {
  createRevision,
  createService,
  createVersion,
  request,
  versionPath,
  type Fields,
} from '../../support/traffic.ts';

let gateway: TestGateway;
let origin: Origin;

beforeAll(async () => {
  [gateway, origin] = await Promise.all([startGateway({ env: { GATEWAY_WORKERS: '2' } }), startOrigin()]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

const patch = (slug: string, fields: Fields, version = 'v1') =>
  gateway.api('PATCH', versionPath(slug, version), fields);

const headersOf = async (target: string) => (await request(gateway, target)).headers;

async function twoVersions(slug: string): Promise<void> {
  await createService(gateway, slug, origin.port);
  await createVersion(gateway, slug, 'v2');
  await createRevision(gateway, slug, origin.port, {}, 'v2');
}

it('links to the successor by its label, and follows when its path changes', async () => {
  await twoVersions('follow');
  expect((await patch('follow', { status: 'deprecated', successor: 'v2' })).status).toBe(200);
  expect((await headersOf('/follow/v1/x'))['link']).toBe('</follow/v2>; rel="successor-version"');
  expect(await headersOf('/follow/v2/x')).not.toHaveProperty('link');
  await patch('follow', { gateway_path: '/follow-next' }, 'v2');
  expect((await headersOf('/follow/v1/x'))['link']).toBe('</follow-next>; rel="successor-version"');
  await gateway.must('PATCH', '/apps/follow', { gateway_path: '/moved' });
  expect((await headersOf('/moved/v1/x'))['link']).toBe('</follow-next>; rel="successor-version"');
});

it('a retired version still says where to go', async () => {
  await twoVersions('gone');
  await patch('gone', { status: 'retired', successor: 'v2' });
  const response = await request(gateway, '/gone/v1/x');
  expect(response.status).toBe(410);
  expect(response.headers['link']).toBe('</gone/v2>; rel="successor-version"');
});

it('accepts a path or a URL, in addition to links of the backend, and null removes it', async () => {
  const linking = await startOrigin((_request, response) => {
    response.writeHead(200, { Link: '</style.css>; rel=preload' });
    response.end('ok');
  });
  await createService(gateway, 'urls', linking.port, {
    version: { successor: 'https://docs.example/v2?from=v1' },
  });
  const both = (await request(gateway, '/urls/v1/x')).headers['link'];
  expect(both).toContain('</style.css>; rel=preload');
  expect(both).toContain('<https://docs.example/v2?from=v1>; rel="successor-version"');
  await patch('urls', { successor: '/elsewhere/' });
  expect((await headersOf('/urls/v1/x'))['link']).toContain('</elsewhere/>; rel="successor-version"');
  await patch('urls', { successor: null });
  expect((await headersOf('/urls/v1/x'))['link']).toBe('</style.css>; rel=preload');
  await linking.close();
});

it('refuses a successor that is no other version of the app', async () => {
  await twoVersions('refused');
  for (const successor of ['v1', 'v3', 'x>; rel="y"']) {
    const answer = await patch('refused', { successor });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].pointer).toBe('/successor');
  }
});

it('keeps the label and the record of a version that another one names as its successor', async () => {
  await twoVersions('kept');
  await patch('kept', { successor: 'v2' });
  const renamed = await patch('kept', { version: 'v3' }, 'v2');
  expect(renamed.status).toBe(409);
  expect(renamed.body.detail).toContain('"v1"');
  expect((await gateway.api('DELETE', `${versionPath('kept', 'v2')}?cascade=true`)).status).toBe(409);
  await patch('kept', { successor: null });
  expect((await patch('kept', { version: 'v3' }, 'v2')).status).toBe(200);
});

it('announces a day of deprecation before the status changes, and keeps it afterwards', async () => {
  await createService(gateway, 'announced', origin.port);
  await patch('announced', { deprecated_at: '2031-05-06T07:08:09Z', sunset_at: '2032-05-06T07:08:09Z' });
  const day = `@${Date.parse('2031-05-06T07:08:09Z') / 1000}`;
  const announced = await headersOf('/announced/v1/x');
  expect(announced['deprecation']).toBe(day);
  expect(announced['sunset']).toBe('Thu, 06 May 2032 07:08:09 GMT');
  await patch('announced', { status: 'deprecated' });
  await patch('announced', { sunset_at: null });
  expect((await headersOf('/announced/v1/x'))['deprecation']).toBe(day);
  await patch('announced', { deprecated_at: '2020-01-01T00:00:00Z' });
  expect((await headersOf('/announced/v1/x'))['deprecation']).toBe('@1577836800');
  await patch('announced', { status: 'active' });
  expect(await headersOf('/announced/v1/x')).not.toHaveProperty('deprecation');
});
