import { once } from 'node:events';
import { connect, createServer } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { CertificateMaker } from '../../test/support/programs/certificate-maker.ts';
import { connectionText } from './error-message.ts';

const maker = new CertificateMaker();
afterAll(() => maker.remove());

it('names the setting where the authority is not trusted, and not how to start Node.js', async () => {
  const server = createServer(
    maker.authority('backend', { extensions: ['keyUsage=digitalSignature'] }),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  const [error] = (await once(socket, 'error')) as [unknown];
  server.close();
  expect(connectionText(error, 'GATEWAY_ACME__CA_FILE')).toBe(
    'self-signed certificate: name its authority in GATEWAY_ACME__CA_FILE',
  );
});

it.each([
  [new Error('no way'), 'no way'],
  ['thrown', 'thrown'],
  [undefined, 'undefined'],
])('leaves %s as it is', (error, text) => expect(connectionText(error, 'X')).toBe(text));
