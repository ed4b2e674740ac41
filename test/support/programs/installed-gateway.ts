/** What each kind of package must do once it is installed: serve traffic, its console and its API explorer. */
import { expect } from 'vitest';
import { startOrigin } from '../backends/origin.ts';
import type { TestGateway } from '../gateway.ts';

/** Meant for a gateway with the explorer switched on, on a fresh database. */
export async function expectWorkingGateway(gateway: TestGateway): Promise<void> {
  const page = await gateway.api('GET', '//');
  expect(page.status).toBe(200);
  const [, script] = /<script[^>]* src="([^"]+)"/.exec(page.body) ?? [];
  expect(await gateway.api('GET', `/${script}`)).toMatchObject({ status: 200 });
  expect(await gateway.api('GET', '//swagger-ui/static/swagger-ui-bundle.js')).toMatchObject({ status: 200 });
  await expectFirstRequest(gateway);
}

/** A first app, and a request through it. */
async function expectFirstRequest(gateway: TestGateway): Promise<void> {
  const origin = await startOrigin();
  try {
    await gateway.must('POST', '/apps', { name: 'First', slug: 'first', gateway_path: '/first' });
    await gateway.must('POST', '/apps/first/versions', { version: 'v1' });
    await gateway.must('POST', '/apps/first/versions/v1/revisions', {
      revision: 'r1',
      backend_scheme: 'http',
      backend_host: '127.0.0.1',
      backend_port: origin.port,
      is_current: true,
    });
    const answer = await fetch(`${gateway.proxy}/first/v1/hello`);
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
  } finally {
    await origin.close();
  }
}
