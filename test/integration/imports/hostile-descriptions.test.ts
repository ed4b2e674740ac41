/** Descriptions that are made to take long, at the started program: they cost no one else anything. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

const importing = (document: unknown): ReturnType<TestGateway['api']> =>
  gateway.api('POST', '/import/openapi', { app: 'shop', document });

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Shop', version: '2.4' },
  servers: [{ url: 'https://shop.internal' }],
  paths: { '/orders': { get: {} } },
};

it('ends a conversion that takes too long, and answers others meanwhile', { timeout: 90_000 }, async () => {
  // Each alias is looked for among all anchors before it. As many as the largest document can have.
  const names = Array.from({ length: 42_000 }, (_, at) => at.toString(36));
  const anchors = names.map((name) => `&${name} 1,*${name}`).join(',');
  let isOver = false;
  const refusing = importing(`openapi: 3.0.0\nx: [${anchors}]`).finally(() => (isOver = true));
  const waits: number[] = [];
  while (!isOver) {
    const startMs = performance.now();
    expect((await gateway.api('GET', '/apps')).status).toBe(200);
    waits.push(performance.now() - startMs);
    await new Promise((done) => setTimeout(done, 50));
  }
  const refused = await refusing;
  expect(refused.status).toBe(422);
  expect(refused.body.errors[0]).toMatchObject({
    pointer: '/document',
    detail: expect.stringMatching(/^takes longer than 15 s\. Use `headgate import openapi`/),
  });
  expect(Math.max(...waits)).toBeLessThan(5_000);
  expect(waits.length).toBeGreaterThan(20);
  const next = await importing(DOCUMENT);
  expect(next.status).toBe(200);
  expect(next.body.data.operations).toBe(1);
});
