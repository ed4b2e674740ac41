/**
 * Attacks on the console and its sessions in a real browser: what others have written and sent is text, other sites and
 * other ports of the same host change nothing, and no path leaves the folder of the files.
 */
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOrigin, type Origin } from '../support/backends/origin.ts';
import { SECRET } from '../support/data/jwts.ts';
import { valuesWith, type NamedSchemas, type TextSchema } from '../support/data/hostile-values.ts';
import { goWithin, startConsole, type ConsolePage, type TestConsole } from '../support/clients/console.ts';
import { ADMIN_TOKEN } from '../support/gateway.ts';

const PAYLOADS = [
  '<img src=x onerror="window.attacked=1">',
  '"><script>window.attacked=1</script>',
  'javascript:window.attacked=1',
  "';window.attacked=1;//`${window.attacked=1}`{{window.attacked=1}}",
  '</textarea></title><svg onload="window.attacked=1">',
  '‮gnp.exe⁦<b>x</b>',
];

/** In one word, which the list of sign-ins shows whole. */
const BROWSER = '<img/src=x/onerror="window.attacked=1">';

let console: TestConsole;
let origin: Origin;
let evil: Server;
let evilPage = '';
beforeAll(async () => {
  evil = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(evilPage);
  });
  await new Promise<void>((done) => evil.listen(0, '127.0.0.1', done));
  [console, origin] = await Promise.all([startConsole(), startOrigin()]);
});
afterAll(async () => {
  await console.close();
  await origin.close();
  evil.closeAllConnections();
  evil.close();
});

/** A record for each field and payload; what the API refuses cannot be shown. @returns how many there are */
async function writePayloads(): Promise<number> {
  const { gateway } = console;
  const schemas = await namedSchemas();
  let count = 0;
  const uniques = (): string => `x${(count += 1)}`;
  const kinds: readonly (readonly [string, string, () => object])[] = [
    ['AppInput', '/apps', () => named(uniques())],
    ['VersionInput', '/apps/target/versions', () => ({ version: uniques() })],
    ['RevisionCreation', '/apps/target/versions/v1/revisions', () => revision(uniques())],
    [
      'EndpointInput',
      '/apps/target/versions/v1/revisions/r1/endpoints',
      () => ({ method: 'GET', path: `/${uniques()}` }),
    ],
    ['TokenCreation', '/apps/target/tokens', () => ({ name: uniques() })],
    ['AdminTokenInput', '/admin/tokens', () => ({ name: uniques(), role: 'viewer' })],
    [
      'WebhookCreation',
      '/webhooks',
      () => ({ name: uniques(), url: 'http://webhook.test/', is_active: false }),
    ],
  ];
  let written = 0;
  for (const [schema, path, base] of kinds) {
    for (const payload of PAYLOADS) {
      for (const value of valuesWith(payload, withoutPolicy(schemas[schema]), schemas)) {
        const body = { ...base(), ...(value as object) };
        const headers = { 'headgate-message': encodeURIComponent(payload) };
        const answer = await gateway.api('POST', path, body, headers);
        expect(answer.status, `${path} ${JSON.stringify(value)}`).toBeLessThan(500);
        if (answer.status < 300) written += 1;
      }
    }
  }
  return written;
}

/** Policies are written once, to records that are looked at. */
function withoutPolicy({ properties = {}, ...rest }: TextSchema = {}): TextSchema {
  const { default_policy: _app, policy_override: _endpoint, ...others } = properties;
  return { ...rest, properties: others };
}

async function namedSchemas(): Promise<NamedSchemas> {
  const answer = await fetch(`${console.gateway.base}/api/v1/openapi.json`);
  const document = (await answer.json()) as { readonly components: { readonly schemas: NamedSchemas } };
  return document.components.schemas;
}

const NESTED = '/apps/nested/versions/v1/revisions/r1';

/**
 * One app, revision and endpoint with a payload in every place that takes one, however deep.
 * @returns the places, such as `/apps/nested {"labels":{"x":…}}` without what stands there, and the page of the
 *   endpoint
 */
async function writeNested(): Promise<{ readonly places: readonly string[]; readonly endpoint: string }> {
  const { gateway } = console;
  const schemas = await namedSchemas();
  const jwt = { auth_type: 'jwt', jwt: { secret: SECRET } };
  const mtls = {
    auth_type: 'mtls',
    mtls: { ca: 'partners', callers: [{ from: 'san_dns', value: 'a.test' }] },
  };
  await gateway.must('POST', '/apps', { ...named('nested'), default_policy: { auth: jwt } });
  await gateway.must('POST', '/apps/nested/versions', { version: 'v1' });
  await gateway.must('POST', '/apps/nested/versions/v1/revisions', {
    ...revision('r1'),
    backend_protocol: 'h2',
    is_current: true,
    default_policy: { auth: mtls },
    load_balancing: { algorithm: 'hash', hash: { by: 'claim', name: 'sub' } },
    circuit_breaker: { probe: { protocol: 'grpc' } },
  });
  const { id } = (await gateway.must('POST', `${NESTED}/endpoints`, { method: 'GET', path: '/x' })) as {
    readonly id: string;
  };
  const endpoint = `${NESTED}/endpoints/${id}`;
  const places = new Set<string>();
  for (const [schema, path] of [
    ['AppInput', '/apps/nested'],
    ['RevisionInput', NESTED],
    ['EndpointInput', endpoint],
  ] as const) {
    for (const payload of PAYLOADS) {
      for (const value of valuesWith(payload, schemas[schema] ?? {}, schemas)) {
        const place = `${path} ${JSON.stringify(value).replace(JSON.stringify(payload), '…')}`;
        if (places.has(place)) continue;
        const type = { 'content-type': 'application/merge-patch+json' };
        const { status } = await gateway.api('PATCH', path, value, type);
        expect(status, place).toBeLessThan(500);
        if (status < 300) places.add(place);
      }
    }
  }
  return { places: [...places], endpoint };
}

const named = (slug: string): object => ({ name: slug, slug, gateway_path: `/${slug}` });
const revision = (label: string): object => ({
  revision: label,
  backend_scheme: 'http',
  backend_host: '127.0.0.1',
  backend_port: origin.port,
});

/** Traffic whose every part is hostile, answered and refused. */
async function sendPayloads(): Promise<void> {
  for (const payload of PAYLOADS) {
    const text = Buffer.from(payload).toString('latin1');
    for (const path of ['/target/v1/', '/nothing/']) {
      await fetch(
        `${console.gateway.proxy}${path}${encodeURIComponent(payload)}?q=${encodeURIComponent(payload)}`,
        {
          headers: {
            'user-agent': text,
            referer: text,
            'x-request-id': text,
            authorization: `Bearer ${text}`,
            traceparent: text,
            tracestate: text,
            'x-headgate-debug': text,
          },
        },
      ).then((answer) => answer.arrayBuffer());
    }
  }
}

/** As a gRPC client: the last two parts of the path are a service and its method. */
async function callPayloads(): Promise<void> {
  for (const payload of PAYLOADS) {
    const name = encodeURIComponent(payload);
    const answer = await fetch(`${console.gateway.proxy}/target/v1/rpc.${name}/${name}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-message': Buffer.from(payload).toString('latin1'),
      },
    });
    await answer.arrayBuffer();
  }
}

async function expectHarmless({ page }: ConsolePage, path: string): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.getByText('Loading …').first().waitFor({ state: 'hidden' });
  expect(await page.evaluate('globalThis.attacked'), path).toBeUndefined();
  const links = await page
    .locator('a[href]')
    .evaluateAll((found) => found.map((link) => (link as unknown as { href: string }).href));
  expect(
    links.filter((link) => !/^https?:/.test(link)),
    path,
  ).toEqual([]);
}

describe('what others have written and sent', () => {
  it('is text on every page', async () => {
    const { gateway } = console;
    await gateway.must('POST', '/apps', {
      ...named('target'),
      description: PAYLOADS[0],
      labels: { team: PAYLOADS[1] },
    });
    await gateway.must('POST', '/apps/target/versions', { version: 'v1' });
    await gateway.must('POST', '/apps/target/versions/v1/revisions', { ...revision('r1'), is_current: true });
    const key = await gateway.must('POST', '/apps/target/tokens', { name: PAYLOADS[0] });
    const hook = { name: PAYLOADS[0], url: 'http://webhook.test/', is_active: false };
    const webhook = await gateway.must('POST', '/webhooks', hook);
    // Names of apps, API keys, admin tokens and webhooks take any text but such as turns its direction; descriptions
    // do.
    expect(await writePayloads()).toBeGreaterThanOrEqual(5 * PAYLOADS.length - 4);
    const { places, endpoint } = await writeNested();
    for (const part of [
      'labels',
      '"set":',
      'issuer',
      'audiences',
      'callers',
      'required_scopes',
      'service',
      'hash',
    ])
      expect(
        places.filter((place) => place.includes(part)),
        part,
      ).not.toEqual([]);
    // Who signs in says what browser it is.
    await fetch(`${gateway.base}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': BROWSER },
      body: JSON.stringify({ token: ADMIN_TOKEN }),
    });
    const { config_version: version } = (await gateway.must('GET', '/nodes')) as {
      readonly config_version: number;
    };
    const below = '/apps/target/versions/v1';
    const paths = [
      '/apps',
      '/',
      '/apps/target',
      below,
      `${below}/revisions/r1`,
      '/keys',
      `/apps/target/keys/${key.id}`,
      '/live',
      '/explain',
      '/shadow',
      '/history',
      '/audit',
      '/events',
      '/webhooks',
      `/webhooks?open=${webhook.id}`,
      `/webhooks?open=${webhook.id}&tab=edit`,
      '/health',
      '/nodes',
      '/access',
      '/settings',
      '/start?app=target',
      '/import',
      '/edit?app=nested',
      `/history/${version}`,
      ...['/apps/nested', NESTED, endpoint].flatMap((path) => [
        path,
        `${path}?tab=policy`,
        `${path}?tab=edit`,
      ]),
      '/explain?url=/nested/v1/x',
    ];
    const hostilePaths = [
      `/apps?q=${encodeURIComponent(PAYLOADS[0]!)}`,
      `/apps/${encodeURIComponent(PAYLOADS[1]!)}`,
      `/live/${encodeURIComponent(PAYLOADS[0]!)}`,
    ];
    const opened = await console.open('/apps');
    await opened.page.getByText(PAYLOADS[0]!).first().waitFor();
    await opened.page.goto('/live');
    await opened.page.getByText('Watching').waitFor();
    await sendPayloads();
    const requests = opened.page.getByRole('log').getByRole('link');
    for (const payload of PAYLOADS)
      await requests
        .filter({ hasText: encodeURIComponent(payload) })
        .first()
        .waitFor();
    await expectHarmless(opened, '/live');
    await callPayloads();
    await requests.filter({ hasText: '/rpc.' }).first().waitFor();
    await expectHarmless(opened, '/live');
    await requests.first().click();
    await opened.page.waitForURL(/\/live\/./);
    await expectHarmless(opened, '/live/$id');
    for (const path of paths) {
      await goWithin(opened.page, path);
      await expectHarmless(opened, path);
    }
    for (const path of hostilePaths) {
      await opened.page.goto(path);
      await expectHarmless(opened, path);
    }
    await opened.page.goto('/access');
    await opened.page.getByText(BROWSER).waitFor();
    opened.expectNoProblems();
  });
});

describe('another site', () => {
  it.each(['127.0.0.1', 'localhost'])(
    'at %s changes nothing with the session of the browser',
    async (host) => {
      const { page } = await console.open('/apps');
      await page.getByRole('heading', { level: 1, name: 'Apps' }).waitFor();
      const target = `${console.gateway.base}/api/v1/apps`;
      const body = JSON.stringify({ name: 'forged', slug: 'forged', gateway_path: '/forged' });
      evilPage = `<!doctype html><form method="post" enctype="text/plain" action="${target}">
      <input name='${body.slice(0, -1)},"x":"' value='"}'></form><p id="done"></p><script type="module">
      const one = (options) => fetch('${target}', { method: 'POST', credentials: 'include', body: '${body}', ...options })
        .then(() => 'sent', () => 'refused');
      const got = [await one({ mode: 'no-cors' }),
        await one({ headers: { 'Content-Type': 'application/json' } }),
        await fetch('${target}', { credentials: 'include' }).then((r) => r.text(), () => 'unread')];
      document.getElementById('done').textContent = got.join(' ');</script>`;
      await page.goto(`http://${host}:${(evil.address() as AddressInfo).port}/`);
      await page.getByText(/^sent refused unread$/).waitFor();
      await page.evaluate('document.forms[0].submit()');
      await page.waitForURL(target);
      expect(await page.locator('body').innerText()).toMatch(/cross_site_request|unauthenticated/);
      expect((await console.gateway.api('GET', '/apps/forged')).status).toBe(404);
    },
  );

  it('cannot show the console in a frame', async () => {
    const { page } = await console.open('/apps');
    evilPage = `<!doctype html><p>bait</p><iframe src="${console.gateway.base}/apps"></iframe>`;
    const refused = page.waitForEvent('console', (message) => /frame/i.test(message.text()));
    await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`);
    await refused;
    expect(await page.frameLocator('iframe').getByRole('heading', { name: 'Apps' }).count()).toBe(0);
  });
});

describe('a sign-in', () => {
  it('does not go on with a cookie that was planted before it', async () => {
    const { page } = await console.open('/apps', 'visitor');
    const planted = 'A'.repeat(43);
    await page
      .context()
      .addCookies([{ name: 'headgate_session', value: planted, url: console.gateway.base }]);
    await page.reload();
    await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Apps' }).waitFor();
    const cookies = (await page.context().cookies()).filter(({ name }) => name === 'headgate_session');
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    expect(cookies[0]?.value).not.toBe(planted);
    const answer = await fetch(`${console.gateway.base}/api/v1/apps`, {
      headers: { cookie: `headgate_session=${planted}` },
    });
    expect(answer.status).toBe(401);
  });

  it.each([
    '/?return_to=https://evil.example/',
    '/apps?return_to=//evil.example',
    '//evil.example/',
    '/\\evil.example/',
    '/sign-in?next=javascript:window.attacked=1',
  ])('leads to no other site: %s', async (path) => {
    const { page, expectNoProblems } = await console.open(`${console.gateway.base}${path}`, 'visitor');
    await page.getByLabel('Admin token').fill(ADMIN_TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Account/ }).waitFor();
    expect(new URL(page.url()).origin).toBe(console.gateway.base);
    expect(await page.evaluate('globalThis.attacked')).toBeUndefined();
    expectNoProblems();
  });
});

describe('paths of files', () => {
  it.each([
    '/assets/../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/assets/..%2f..%2fpackage.json',
    '/assets/..%5c..%5cpackage.json',
    '/assets/..\\..\\package.json',
    '/assets/%00/../../package.json',
    '/assets/index.html%00.js',
    '/%2fetc/passwd',
    '//etc/passwd',
    '/assets//etc/passwd',
    '/../../../../../../etc/passwd',
    '/assets/%252e%252e/%252e%252e/package.json',
    'file:///etc/passwd',
  ])('lead to no other file: %s', async (path) => {
    const answer = await raw(path);
    expect(answer).toMatch(/^HTTP\/1\.1 (?:[34]\d\d|200) /);
    expect(answer).not.toMatch(/root:|"dependencies"|"devDependencies"/);
    // The page itself, which stands at all addresses, or an error.
    if (answer.startsWith('HTTP/1.1 200')) expect(answer).toContain('<div id="console">');
  });
});

/** Sent as it is: clients would tidy the path up. */
function raw(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(console.gateway.managementPort, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').setTimeout(10_000, () => socket.destroy(new Error('no answer')));
    socket
      .on('data', (chunk: string) => (text += chunk))
      .on('error', reject)
      .on('close', () => resolve(text));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/html\r\nConnection: close\r\n\r\n`);
  });
}
