/**
 * An upload to a backend that is gone without a word, as far as the system says so. For a backend that does vanish,
 * which needs the rights to make a network, see `test/soak/vanished-backend.soak.ts`.
 */
import { afterEach, expect, it, vi } from 'vitest';
import { UnansweredPeers } from '../../../src/lib/sockets/unanswered-peers.ts';
import { closeAfterEach } from '../../support/closers.ts';
import { startRawOrigin } from '../../support/backends/origin.ts';
import { connectRaw } from '../../support/clients/raw-client.ts';
import { oneRoute, startProxy } from '../../support/proxy.ts';

const IDLE_MS = 300;
const closers = closeAfterEach();
afterEach(() => vi.restoreAllMocks());

it('ends with 504 at the next idle time-out, although the client sends; one that is acknowledged goes on', async () => {
  const asked = vi.spyOn(UnansweredPeers.prototype, 'has').mockReturnValue(false);
  let received = 0;
  const backend = await startRawOrigin((_socket, text) => (received = text.length));
  closers.push(() => backend.close());
  const proxy = await startProxy(oneRoute({ backendPort: backend.port }), {
    options: { idleTimeoutMs: IDLE_MS },
  });
  closers.push(() => proxy.close());
  const client = await connectRaw(proxy.port);
  closers.push(() => client.end());
  client.write('POST /a/v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const drip = setInterval(() => client.write('1\r\nx\r\n'), 30);
  closers.push(() => clearInterval(drip));
  await vi.waitFor(() => expect(asked.mock.calls.length).toBeGreaterThan(1), { timeout: 10_000 });
  expect([client.received(), received > 0]).toEqual(['', true]);
  asked.mockReturnValue(true);
  const response = await client.response({ timeoutMs: 10_000 });
  expect([response.status, JSON.parse(response.body)]).toMatchObject([504, { code: 'upstream_timeout' }]);
  expect(proxy.failures).toEqual(['idle_timeout']);
  expect(proxy.defects).toEqual([]);
});
