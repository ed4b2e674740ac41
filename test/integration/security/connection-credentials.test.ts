/**
 * A backend that authenticates connections, as servers with Windows authentication do (NTLM and Negotiate, RFC 4559):
 * whatever one client proves, no other client is taken for it. Requests of all clients share the connections to a
 * backend.
 */
import { expect, it } from 'vitest';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const closers = closeAfterEach();

const answer = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\nWWW-Authenticate: NTLM\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** Its answers name the user of the connection. */
async function authenticating() {
  const origin = await startRawOrigin((socket, receivedSoFar) => {
    const user = /^authorization: (?:NTLM|Negotiate) (\S+)\r$/im.exec(receivedSoFar)?.[1];
    if (user === undefined) socket.write(answer('401 Unauthorized', ''));
    else socket.write(answer('200 OK', `mail of ${user}`));
  });
  closers.push(() => origin.close());
  const proxy = await startProxy(oneRoute({ backendPort: origin.port }));
  closers.push(() => proxy.close());
  const ask = async (fields = ''): Promise<string> => {
    const { status, body } = await sendRaw(proxy.port, `GET /a/v1/x HTTP/1.1\r\nHost: a\r\n${fields}\r\n`);
    return `${status} ${body}`;
  };
  return { ask, origin, proxy };
}

it.each(['NTLM alice', 'Negotiate alice', 'ntlm alice'])(
  'no request without credentials goes to it on the connection of "Authorization: %s"',
  async (credentials) => {
    const { ask, proxy } = await authenticating();
    expect(await ask()).toBe('401 ');
    expect(await ask(`Authorization: ${credentials}\r\n`)).toBe('200 mail of alice');
    expect(proxy.pool.idleCount).toBe(0);
    expect(await ask()).toBe('401 ');
  },
);

it('requests with other credentials share connections', async () => {
  const { ask, origin } = await authenticating();
  for (const credentials of ['Basic YWxpY2U6', 'Bearer NTLM', 'Digest username="n"'])
    expect(await ask(`Authorization: ${credentials}\r\n`)).toBe('401 ');
  expect(origin.connections()).toBe(1);
});
