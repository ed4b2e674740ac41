import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:tls';
import { createServer as createPlainServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CertificateMaker } from '../../test/support/programs/certificate-maker.ts';
import { connectionText, systemCode, systemReason } from './error-message.ts';

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

const folder = mkdtempSync(join(tmpdir(), 'headgate-system-error-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'file'), '');

it.each([
  [folder, 'EISDIR', 'it is a folder'],
  [join(folder, 'none'), 'ENOENT', 'it does not exist'],
  [join(folder, 'file', 'below'), 'ENOTDIR', 'a part of the path is not a folder'],
])('says why %s cannot be read, without its path', (path, code, reason) => {
  let thrown: unknown;
  try {
    readFileSync(path);
  } catch (error) {
    thrown = error;
  }
  expect([systemCode(thrown), systemReason(thrown)]).toEqual([code, reason]);
});

it('says why an address cannot be listened on', async () => {
  const server = createPlainServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const second = createPlainServer().listen(server.address());
  const [error] = (await once(second, 'error')) as [unknown];
  server.close();
  expect(systemReason(error)).toBe('another process listens there');
});

it.each([
  [new Error('no way'), 'no way'],
  ['thrown', 'thrown'],
])('leaves %s as it is', (error, text) =>
  expect([systemCode(error), systemReason(error)]).toEqual(['', text]),
);
