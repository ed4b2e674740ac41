/**
 * Applies while clients call without a pause: no request fails, no answer is made of two states, and from the answer to
 * an apply on every worker serves it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../../support/backends/origin.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { request } from '../../support/traffic.ts';

const STATES = 15;
const CLIENTS = 8;
const APPS = 2;
const ENDPOINTS_PER_APP = 100;

let gateway: TestGateway;
let origin: Origin;
beforeAll(async () => {
  const env = { GATEWAY_WORKERS: '2', GATEWAY_LOG__ACCESS: 'false' };
  // The path of the request tells which state made it: its first part is of the revision, its second of the endpoint.
  const echo = startOrigin(({ url = '' }, response) => void response.end(url));
  [gateway, origin] = await Promise.all([startGateway({ env }), echo]);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

function tree(state: number): object {
  const endpoints = Object.fromEntries(
    Array.from({ length: ENDPOINTS_PER_APP }, (_, index) => [
      `GET /things/${index}`,
      { backend_path: `/${state}/${index}` },
    ]),
  );
  const r1 = {
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: origin.port,
    backend_base_path: `/${state}`,
    is_current: true,
    endpoints,
  };
  return Object.fromEntries(
    Array.from({ length: APPS }, (_, app) => [
      `app-${app}`,
      { gateway_path: `/app-${app}`, description: `state ${state}`, versions: { v1: { revisions: { r1 } } } },
    ]),
  );
}

async function apply(state: number): Promise<void> {
  await gateway.must('POST', '/config/apply', { config: { apps: tree(state) }, max_deletes: 0 });
}

it('an apply under load fails no request, mixes no states, and is obeyed when it is answered', async () => {
  await apply(0);
  let inForce = 0;
  let isOver = false;
  let answers = 0;
  const seen = new Set<string>();
  const wrong: string[] = [];
  const client = async (): Promise<void> => {
    while (!isOver && wrong.length < 10) {
      const least = inForce;
      const [app, index] = [answers % APPS, answers % ENDPOINTS_PER_APP];
      answers += 1;
      const { status, body } = await request(gateway, `/app-${app}/v1/things/${index}`);
      const [, ofRevision = '', ofEndpoint, place] = body.split('/');
      seen.add(ofRevision);
      const isWhole = status === 200 && ofRevision === ofEndpoint && place === String(index);
      if (!isWhole || Number(ofRevision) < least) wrong.push(`after state ${least}: ${status} ${body}`);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  for (let state = 1; state <= STATES; state += 1) {
    await apply(state);
    inForce = state;
  }
  isOver = true;
  await Promise.all(clients);
  expect(wrong).toEqual([]);
  expect(answers).toBeGreaterThan(STATES * CLIENTS);
  expect(seen.size, 'requests met many of the states').toBeGreaterThan(STATES / 2);
});
