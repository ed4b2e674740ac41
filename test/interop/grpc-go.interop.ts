/**
 * The interoperability tests of gRPC (its `doc/interop-test-descriptions.md`) with the client and the server of
 * grpc-go, client to gateway to server, on every combination of plain and TLS connections, with an API key, limits and
 * time-outs in between.
 */
// oxlint-disable vitest/expect-expect -- expectPassed is an assertion
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/backends/origin-process.ts';
import { run } from '../support/programs/programs.ts';
import { GO_CASES, runGoClient } from './programs/grpc-go-client.ts';
import { goModule } from './programs/install.ts';
import {
  CA_FILE,
  CERT_FILE,
  KEY_FILE,
  SERVICE_POLICY,
  startInteropGateway,
  type InteropGateway,
} from './programs/interop-gateway.ts';
import { startServer, type ServerProcess } from './programs/server-process.ts';

const SOAK = [
  '-soak_iterations=1000',
  '-soak_num_threads=8',
  '-soak_overall_timeout_seconds=120',
  // Whether all arrive, not how fast on a machine that does other things.
  '-soak_per_iteration_max_acceptable_latency_ms=60000',
];

describe.each(['http', 'https'] as const)('to a server over %s', (scheme) => {
  let server: ServerProcess | undefined;
  let gateway: InteropGateway | undefined;

  beforeAll(async () => {
    const secure = ['-use_tls', '-tls_cert_file', CERT_FILE, '-tls_key_file', KEY_FILE];
    const port = await freePort();
    const args = ['-port', String(port), ...(scheme === 'https' ? secure : [])];
    server = await startServer(port, goModule('server'), args);
    gateway = await startInteropGateway(
      {
        backend_scheme: scheme,
        backend_protocol: scheme === 'https' ? 'auto' : 'h2',
        backend_host: 'localhost',
        backend_port: port,
        ...(scheme === 'https' && { backend_tls: { ca: readFileSync(CA_FILE, 'utf8') } }),
      },
      SERVICE_POLICY,
    );
  });
  afterAll(async () => {
    await gateway?.stop();
    await server?.stop();
  });

  async function expectPassed(isSecure: boolean, name: string, ...more: readonly string[]): Promise<void> {
    const { code, stderr } = await runGoClient(gateway!, isSecure, name, ...more);
    expect(code, stderr).toBe(0);
  }

  it.each(GO_CASES)('%s of a client without TLS', (name) => expectPassed(false, name));
  it.each(GO_CASES)('%s of a client with TLS', (name) => expectPassed(true, name));
  it('a thousand large calls on eight threads', () => expectPassed(true, 'rpc_soak', ...SOAK));

  it('without a key no call passes, and its status says so', async () => {
    const at = ['-server_host', 'localhost', '-server_port', String(gateway?.proxyPort)];
    const { code, stderr } = await run(goModule('client'), [...at, '-test_case', 'empty_unary']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('code = Unauthenticated')]);
  });
});
