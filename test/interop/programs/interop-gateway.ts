/** A gateway with both traffic ports, one app at `/` in front of a backend, and policies as a service has them. */
import { fileURLToPath } from 'node:url';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/backends/origin-process.ts';

const tlsFile = (name: string): string =>
  fileURLToPath(new URL(`../../support/tls/${name}`, import.meta.url));
export const CA_FILE = tlsFile('ca.pem');
export const CERT_FILE = tlsFile('backend.pem');
export const KEY_FILE = tlsFile('backend-key.pem');

/** As a service has them: no call of the tests comes near its limits. */
export const SERVICE_POLICY = {
  auth: { auth_type: 'api_key' },
  rate_limit: { enabled: true, requests: 100_000, window_seconds: 60, per: 'api_key' },
  concurrency: { max: 100 },
  max_body_bytes: 10_000_000,
  timeouts: { total_ms: 60_000, idle_ms: 30_000 },
};

export interface InteropGateway extends TestGateway {
  readonly tlsPort: number;
  /** Of a caller. */
  readonly token: string;
}

export async function startInteropGateway(
  revision: Readonly<Record<string, unknown>>,
  policy: Readonly<Record<string, unknown>> = {},
): Promise<InteropGateway> {
  const tlsPort = await freePort();
  const gateway = await startGateway({
    env: {
      GATEWAY_PROXY__H2C: 'true',
      GATEWAY_PROXY__TLS__PORT: String(tlsPort),
      GATEWAY_PROXY__TLS__CERT_FILE: CERT_FILE,
      GATEWAY_PROXY__TLS__KEY_FILE: KEY_FILE,
    },
  });
  await gateway.must('POST', '/apps', {
    name: 'All',
    slug: 'all',
    gateway_path: '/',
    default_policy: policy,
  });
  await gateway.must('POST', '/apps/all/versions', { version: 'v1', gateway_path: '/' });
  await gateway.must('POST', '/apps/all/versions/v1/revisions', {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    is_current: true,
    ...revision,
  });
  const { token } = await gateway.must('POST', '/apps/all/tokens', { name: 'tests' });
  return { ...gateway, tlsPort, token };
}
