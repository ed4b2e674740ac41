/** Whom requests to an ACME directory trust, while the file with the authorities changes. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { Egress } from '../../egress/egress.ts';
import { createOwnPorts, OwnListeners } from '../../egress/own-listeners.ts';
import { systemClock } from '../../lib/clock.ts';
import { DirectoryHttp } from './directory-http.ts';

const certificate = (name: string): string =>
  readFileSync(new URL(`../../../test/support/tls/${name}.pem`, import.meta.url), 'utf8');

it('trusts the authorities that are there at each request', async () => {
  const [cert, key] = [certificate('backend'), certificate('backend-key')];
  const server = createServer({ cert, key }, (_request, response) => void response.end('{}'));
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  let authorities: string | undefined;
  const lists = { allow: ['127.0.0.0/8'], deny: [], unixSocketsFrom: [] };
  const egress = new Egress(lists, new OwnListeners(createOwnPorts(), systemClock));
  const http = new DirectoryHttp(egress, () => authorities);
  const ask = (): Promise<unknown> =>
    http.send({ method: 'GET', url: `https://127.0.0.1:${port}/directory` });
  try {
    await expect(ask()).rejects.toThrow(/GATEWAY_ACME__CA_FILE/);
    authorities = certificate('ca');
    expect(await ask()).toMatchObject({ status: 200, text: '{}' });
    authorities = certificate('site');
    await expect(ask()).rejects.toThrow(/GATEWAY_ACME__CA_FILE/);
  } finally {
    await http.close();
    server.closeAllConnections();
    server.close();
  }
});
