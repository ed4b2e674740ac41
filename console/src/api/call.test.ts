import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ApiError, GatewayUnreachable } from './api-error.ts';
import { callByName } from './call.ts';
import { connectionState, startSession } from './session-state.ts';

it.each(['.', '..'])('a name from a link cannot make another call of it: %s', async (name) => {
  const calling = callByName('DELETE /apps/{app_id}/tokens/{token_id}', {
    path: { app_id: name, token_id: 'x' },
  });
  await expect(calling).rejects.toBeInstanceOf(ApiError);
  await expect(calling).rejects.toMatchObject({ status: 404 });
});

it('an answer that breaks off is none: what was sent may have been done', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    response.write('{"data":', () => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  // A page has an origin, which its paths are relative to.
  const realFetch = globalThis.fetch;
  vi.stubGlobal('fetch', (path: string, init: RequestInit) =>
    realFetch(`http://127.0.0.1:${port}${path}`, init),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  const calling = callByName('DELETE /apps/{app_id}', { path: { app_id: 'shop' } });
  await expect(calling).rejects.toBeInstanceOf(GatewayUnreachable);
  expect(connectionState().isUnreachable).toBe(true);
});

it('a refusal that comes late says nothing of the session that has begun meanwhile', async () => {
  const refused = () => Response.json({ code: 'unauthorized' }, { status: 401 });
  const late = Promise.withResolvers<Response>();
  const answers = [late.promise, Promise.resolve(refused())];
  vi.stubGlobal('fetch', () => answers.shift());
  onTestFinished(() => void vi.unstubAllGlobals());
  const person = { id: 'ann', name: 'Ann', role: 'admin' } as const;
  startSession('first', person);
  const asked = callByName('GET /apps', {});
  startSession('second', person);
  late.resolve(refused());
  await expect(asked).rejects.toMatchObject({ status: 401 });
  expect(connectionState().hasSessionEnded).toBe(false);
  await expect(callByName('GET /apps', {})).rejects.toMatchObject({ status: 401 });
  expect(connectionState().hasSessionEnded).toBe(true);
});
