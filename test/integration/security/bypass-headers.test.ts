/**
 * No header field gets past a policy: fields by which frameworks replace path, method, address or identity, in every
 * spelling, and the tricks of HTTP/1.1 to hide, double or nominate a field. The backend's view decides again.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBypassServices, MODES, PROTECTIONS } from '../../support/data/bypass-services.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { startOrigin, type Origin, type Seen } from '../../support/backends/origin.ts';
import { sendRaw } from '../../support/clients/raw-client.ts';

let origin: Origin;
let gateway: TestGateway;
let keys: ReadonlyMap<string, string>;

beforeAll(async () => {
  [origin, gateway] = await Promise.all([startOrigin(), startGateway()]);
  keys = await createBypassServices(gateway, origin.port);
  for (const { slug } of MODES) await ask('GET', `/${slug}/v1/limit/data`, []);
});
afterAll(async () => {
  await gateway.stop();
  await origin.close();
});

/** Sends lines as they are; the status (0: closed without an answer) and what the backend got. */
async function ask(
  method: string,
  path: string,
  lines: readonly string[],
): Promise<{ readonly status: number; readonly seen: readonly Seen[] }> {
  const before = origin.seen.length;
  const head = `${method} ${path} HTTP/1.1\r\nHost: gateway.test\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
  const status = await sendRaw(gateway.proxyPort, head).then(
    (response) => response.status,
    () => 0,
  );
  return { status, seen: origin.seen.slice(before) };
}

/** Fields that name a path; the value is another one than the request line's. */
const PATH_FIELDS = [
  'X-Original-URL',
  'X-Original-URI',
  'X-Rewrite-URL',
  'X-Override-URL',
  'X-Forwarded-Uri',
  'X-Forwarded-Path',
  'X-Forwarded-Prefix',
  'X-Forwarded-Request-Uri',
];
const METHOD_FIELDS = [
  'X-HTTP-Method-Override',
  'X-HTTP-Method',
  'X-Method-Override',
  'X-Middleware-Subrequest',
  'X-Original-Method',
  'X-Forwarded-Method',
];
const IDENTITY_FIELDS = [
  'X-Headgate-Key-Id',
  'X-Headgate-Key-Name',
  'X-Headgate-Scopes',
  'X-Headgate-Subject',
  'X-Headgate-Anything',
];
const ADDRESS_FIELDS = [
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-Port',
  'X-Forwarded-Server',
  'X-Real-IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
  'Client-IP',
  'Proxy-Client-IP',
  'WL-Proxy-Client-IP',
  'X-Originating-IP',
  'X-Remote-Addr',
  'X-Remote-IP',
  'True-Client-IP',
  'CF-Connecting-IP',
  'CF-Connecting-IPv6',
  'CloudFront-Viewer-Address',
  'Fastly-Client-IP',
  'X-Azure-ClientIP',
  'Forwarded',
];
/** Forged values are told from the gateway's own by this. */
const FORGED = 'forged.example';

/** As CGI and its like read names: without case, and with every odd character alike. */
const folded = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '_');
const SPELLINGS_OF_NAMES: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toLowerCase(),
  (name) => name.toUpperCase(),
  (name) => name.replaceAll('-', '_'),
  (name) => name.replace('-', '_'),
  (name) => name.replaceAll('-', '.'),
];

function forgedAmong({ rawHeaders }: Seen, names: readonly string[]): string[] {
  const wanted = new Set(names.map(folded));
  const found: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    if (wanted.has(folded(name)) && value.includes(FORGED)) found.push(`${name}: ${value}`);
  }
  return found;
}

const ALL_FIELDS = [...PATH_FIELDS, ...METHOD_FIELDS, ...IDENTITY_FIELDS, ...ADDRESS_FIELDS];
const modes = MODES.filter(({ strips, allowsSlashes }) => strips && !allowsSlashes);

describe.each(modes)('in mode %o', ({ slug }) => {
  const publicPath = `/${slug}/v1/public/data`;

  it.each(ALL_FIELDS)('%s opens nothing, and does not reach the backend', async (field) => {
    for (const spell of SPELLINGS_OF_NAMES) {
      const line = `${spell(field)}: /${slug}/v1/public/data?${FORGED}`;
      for (const { area, method, status, keyed } of PROTECTIONS) {
        const key = keyed === true ? [`Authorization: Bearer ${keys.get(slug)}`] : [];
        const path = area === 'old' ? `/${slug}/v1/old/data` : `/${slug}/v1/${area}/data`;
        const answer = await ask(method, path, [line, ...key]);
        expect([line, area, answer.status, answer.seen.length]).toEqual([line, area, status, 0]);
      }
      const { status, seen } = await ask('GET', publicPath, [line]);
      expect([line, status, seen[0]?.method, seen[0]?.url]).toEqual([line, 200, 'GET', '/public/data']);
      expect(forgedAmong(seen[0] as Seen, [field])).toEqual([]);
    }
  });

  const key = (): string => `Bearer ${keys.get(slug)}`;
  it.each<[string, () => readonly string[], readonly number[]]>([
    ['no credential', () => [], [401]],
    [
      'a credential that Connection nominates',
      () => ['Authorization: Bearer x', 'Connection: Authorization'],
      [401],
    ],
    [
      'two credentials, one of them bad',
      () => [`Authorization: ${key()}`, 'Authorization: Bearer x'],
      [400, 401],
    ],
    ['two credentials in one field', () => [`Authorization: ${key()}, Bearer x`], [400, 401]],
    ['white space before the colon', () => [`Authorization : ${key()}`], [400]],
    ['a folded line', () => ['Authorization:', ` ${key()}`], [400]],
    ['a folded line with a tab', () => ['X-A: b', `\tAuthorization: ${key()}`], [400]],
    ['a bare LF', () => [`X-A: b\nAuthorization: ${key()}`], [400]],
    ['a bare CR', () => [`X-A: b\rAuthorization: ${key()}`], [400]],
    ['NUL in a value', () => ['Authorization: Bearer \0x'], [400]],
    ['an underscore for the field', () => [`Author_ization: ${key()}`], [401]],
    ['a proxy credential', () => [`Proxy-Authorization: ${key()}`], [401]],
    ['a cookie', () => [`Cookie: Authorization=${key()}`], [401]],
    ['another scheme', () => [`Authorization: Basic ${keys.get(slug)}`], [401]],
    ['a second Host', () => ['Host: other.test'], [400]],
    ['a field without a name', () => [': x'], [400]],
  ])('%s is no way in', async (_what, lines, statuses) => {
    const { status, seen } = await ask('GET', `/${slug}/v1/auth/data`, lines());
    expect(statuses).toContain(status);
    expect(seen).toEqual([]);
  });

  it('what the gateway vouches for cannot be nominated away, and a limit cannot be counted for another caller', async () => {
    const nominated = 'close, X-Forwarded-For, X-Headgate-Key-Id, X-Request-Id, Via, Host, Authorization';
    const { seen } = await ask('GET', publicPath, [`Connection: ${nominated}`, `Authorization: ${key()}`]);
    expect(seen[0]?.headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' });
    expect(seen[0]?.headers['x-request-id']).toMatch(/\S/);
    expect(seen[0]?.headers.via).toMatch(/headgate/);
    expect(seen[0]?.headers.authorization).toBeUndefined();
    for (const field of ADDRESS_FIELDS) {
      const limited = await ask('GET', `/${slug}/v1/limit/data`, [`${field}: 203.0.113.9`]);
      expect([field, limited.status, limited.seen.length]).toEqual([field, 429, 0]);
    }
  });
});
