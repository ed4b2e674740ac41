import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:tls';
import { createServer as createPlainServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { CertificateMaker } from '../../test/support/programs/certificate-maker.ts';
import { connectionText, requestText, systemCode, systemReason } from './error-message.ts';

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
  [
    'write EPROTO 408D:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:77:\n',
    'the server does not answer in TLS',
  ],
  [
    '408D:error:0A000418:SSL routines:ssl3_read_bytes:tlsv1 alert unknown ca:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 48\n',
    'the server does not accept the certificate of its client',
  ],
  [
    '408D:error:0A000458:SSL routines:ssl3_read_bytes:tlsv1 alert unrecognized name:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 112\n',
    'TLS failed: tlsv1 alert unrecognized name',
  ],
  [
    'error:05800074:x509 certificate routines::key values mismatch',
    'certificate and key do not belong together',
  ],
])('puts what OpenSSL writes into words: %s', (message, words) => {
  const error = Object.assign(new Error(message), { code: 'EPROTO' });
  expect(connectionText(error, 'X')).toBe(words);
  expect(requestText(error, 1, 'X')).toBe(`${words} (EPROTO)`);
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
