/** Whether an address is taken, also where the system does not list who listens. */
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { takenError } from './free-address.ts';

it.each([
  ['with the list of the system', undefined],
  ['without it, as where /proc is not mounted', ['/nowhere/tcp']],
])('a port is taken while another process listens on it, and not afterwards (%s)', async (_name, tables) => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  expect(await takenError({ host: '127.0.0.1', port }, tables)).toMatchObject({ code: 'EADDRINUSE' });
  await new Promise((done) => server.close(done));
  expect(await takenError({ host: '127.0.0.1', port }, tables)).toBeUndefined();
});
