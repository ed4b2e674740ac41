/** The files of the connection to a collector are replaced while the gateway runs, as cert-manager does every day. */
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import { CertificateMaker } from '../../support/programs/certificate-maker.ts';

const TLS = resolve(import.meta.dirname, '../../support/tls');
const read = (name: string): string => readFileSync(join(TLS, `${name}.pem`), 'utf8');
const serialOf = (name: string): string => new X509Certificate(read(name)).serialNumber;

let folder = '';
let collector: Server;
let gateway: TestGateway;
/** Serial numbers of the certificates that were presented, in their order. */
const presented: string[] = [];

/** As Kubernetes mounts a Secret: a link to a folder, which is replaced at once. */
function mount(name: string, key = `${name}-key`): void {
  const version = mkdtempSync(join(folder, 'version-'));
  copyFileSync(join(TLS, `${name}.pem`), join(version, 'tls.crt'));
  copyFileSync(join(TLS, `${key}.pem`), join(version, 'tls.key'));
  symlinkSync(version, join(folder, 'next'));
  renameSync(join(folder, 'next'), join(folder, 'mounted'));
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-collector-files-'));
  mkdirSync(join(folder, 'data'));
  mount('other');
  const [cert, key, ca] = [read('backend'), read('backend-key'), read('ca')];
  collector = createServer({ cert, key, ca, requestCert: true }, (request, response) => {
    presented.push((request.socket as TLSSocket).getPeerX509Certificate()?.serialNumber ?? '');
    request.resume().on('end', () => response.writeHead(200).end());
  });
  await new Promise<void>((done) => void collector.listen(0, '127.0.0.1', done));
  gateway = await startGateway({
    env: {
      GATEWAY_OTEL__ENDPOINT: `https://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      GATEWAY_OTEL__SIGNALS: 'metrics',
      GATEWAY_OTEL__METRICS_INTERVAL_MS: '1000',
      GATEWAY_OTEL__CA_FILE: join(TLS, 'ca.pem'),
      GATEWAY_OTEL__CLIENT_CERT_FILE: join(folder, 'mounted/tls.crt'),
      GATEWAY_OTEL__CLIENT_KEY_FILE: join(folder, 'mounted/tls.key'),
    },
  });
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  collector.closeAllConnections();
  collector.close();
  rmSync(folder, { recursive: true, force: true });
});

const problems = async (): Promise<{ code: string; detail: string; since: string }[]> =>
  gateway.must('GET', '/problems');

it(
  'a renewed client certificate is presented without a restart, and a useless one is not',
  { timeout: 60_000 },
  async () => {
    await until(() => presented.includes(serialOf('other')));
    mount('backend');
    await until(() => presented.includes(serialOf('backend')));
    expect(await problems()).toEqual([]);
    mount('other', 'backend-key');
    const found = await until(async () => (await problems())[0]);
    expect(found).toMatchObject({
      code: 'certificate_files_unusable',
      detail: expect.stringMatching(
        /^Cannot use GATEWAY_OTEL__CLIENT_KEY_FILE, .*: certificate and key do not belong together.* The previous content stays in use/,
      ),
      since: expect.any(String),
    });
    const { length } = presented;
    await until(() => presented.length > length + 1);
    expect(new Set(presented.slice(length))).toEqual(new Set([serialOf('backend')]));
    mount('other');
    await until(async () => (await problems()).length === 0);
    await until(() => presented.at(-1) === serialOf('other'));
    const told = gateway.logs().filter(({ msg }) => /files for (?:a collector|collectors)/.test(String(msg)));
    expect(told.map(({ msg }) => msg)).toEqual([
      'the files for collectors were reloaded',
      'cannot use the new files for a collector; the old ones stay in use',
      'the files for collectors were reloaded',
    ]);
    expect(JSON.stringify(gateway.logs())).not.toContain('PRIVATE KEY');
  },
);

it('a client certificate that expires soon is an event, a problem and a metric', async () => {
  const maker = new CertificateMaker();
  const extensions = ['subjectAltName=DNS:edge.test'];
  const { name } = maker.authority('edge', { days: 10, extensions });
  const ending = await startGateway({
    env: {
      GATEWAY_OTEL__ENDPOINT: 'https://127.0.0.1:1',
      GATEWAY_OTEL__CLIENT_CERT_FILE: join(maker.folder, `${name}.pem`),
      GATEWAY_OTEL__CLIENT_KEY_FILE: join(maker.folder, `${name}.key`),
    },
  });
  try {
    const event = await until(async () => (await ending.must('GET', '/events?type=certificate.ending'))[0]);
    expect(event).toMatchObject({
      subject: { kind: 'certificate', name: 'edge.test' },
      data: { listener: 'collectors', names: ['edge.test'], days_left: 9 },
    });
    expect(await ending.must('GET', '/problems')).toContainEqual(
      expect.objectContaining({
        code: 'certificate_expires_soon',
        detail: expect.stringMatching(/^The client certificate for collectors \(edge\.test\) expires at /),
      }),
    );
    const [own] = await ending.must('GET', '/state');
    expect(own.state.certificates).toMatchObject([{ listener: 'collectors', names: ['edge.test'] }]);
    expect(String((await ending.api('GET', '//metrics')).body)).toContain(
      'headgate_tls_certificate_expiry_seconds{listener="collectors",certificate="1",name="edge.test"} ',
    );
    expect(ending.logs()).toContainEqual(
      expect.objectContaining({ msg: 'a client certificate for collectors expires soon' }),
    );
  } finally {
    await ending.stop();
    maker.remove();
  }
});
