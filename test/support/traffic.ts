/** Short ways to put apps, versions, revisions and endpoints in place, for tests of the traffic path. */
import type { TestGateway } from './gateway.ts';
import type { Seen } from './backends/origin.ts';
import { sendRaw, type RawResponse } from './clients/raw-client.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A record as the management API gives it. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked into freely by tests
export type Served = any;

export const versionPath = (slug: string, version = 'v1'): string => `/apps/${slug}/versions/${version}`;
export const revisionPath = (slug: string, version = 'v1', revision = 'r1'): string =>
  `${versionPath(slug, version)}/revisions/${revision}`;

/** An app under `/<slug>`. */
export function createApp(gateway: TestGateway, slug: string, fields: Fields = {}): Promise<Served> {
  return gateway.must('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}`, ...fields });
}

export function createVersion(
  gateway: TestGateway,
  slug: string,
  version = 'v1',
  fields: Fields = {},
): Promise<Served> {
  return gateway.must('POST', `/apps/${slug}/versions`, { version, ...fields });
}

/** A current revision over plain HTTP on loopback. */
export function createRevision(
  gateway: TestGateway,
  slug: string,
  backendPort: number,
  fields: Fields = {},
  version = 'v1',
): Promise<Served> {
  return gateway.must('POST', `${versionPath(slug, version)}/revisions`, {
    revision: 'r1',
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: backendPort,
    is_current: true,
    ...fields,
  });
}

export function createEndpoint(
  gateway: TestGateway,
  slug: string,
  method: string,
  path: string,
  fields: Fields = {},
  { version = 'v1', revision = 'r1' } = {},
): Promise<Served> {
  const collection = `${revisionPath(slug, version, revision)}/endpoints`;
  return gateway.must('POST', collection, { method, path, ...fields });
}

export interface ServiceFields {
  readonly app?: Fields;
  readonly version?: Fields;
  readonly revision?: Fields;
}

/** App `/<slug>`, version `v1`, current revision `r1`. */
export async function createService(
  gateway: TestGateway,
  slug: string,
  backendPort: number,
  { app = {}, version = {}, revision = {} }: ServiceFields = {},
): Promise<void> {
  await createApp(gateway, slug, app);
  await createVersion(gateway, slug, 'v1', version);
  await createRevision(gateway, slug, backendPort, revision);
}

/** One request on a connection of its own; the target goes out byte for byte. */
export function request(
  gateway: TestGateway,
  target: string,
  { method = 'GET', headers = {}, body = '' }: RequestParts = {},
): Promise<RawResponse> {
  return sendRaw(gateway.proxyPort, requestText(target, { method, headers, body }), method === 'HEAD');
}

export interface RequestParts {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The bytes of a request (latin1); a body brings its Content-Length. */
export function requestText(
  target: string,
  { method = 'GET', headers = {}, body = '' }: RequestParts = {},
): string {
  const hasHost = Object.keys(headers).some((name) => name.toLowerCase() === 'host');
  const fields: (readonly [string, string | number])[] = [
    ...(hasHost ? [] : [['Host', 'gateway.test'] as const]),
    ...Object.entries(headers),
    ...(body === '' ? [] : [['Content-Length', body.length] as const]),
  ];
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${method} ${target} HTTP/1.1\r\n${lines}\r\n${body}`;
}

/** What the echo origin says that it saw; fails when the request did not get there. */
export function echoed(response: RawResponse): Seen {
  if (response.status !== 200)
    throw new Error(`Expected the echo of the origin, not ${response.status} ${response.body}`);
  return JSON.parse(Buffer.from(response.body, 'latin1').toString('utf8')) as Seen;
}

/** The problem document of an error answer. */
export function problem(response: RawResponse): Served {
  if (response.headers['content-type'] !== 'application/problem+json')
    throw new Error(`Expected a problem document, not ${response.status} ${response.body}`);
  return JSON.parse(response.body);
}
