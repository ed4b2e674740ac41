/**
 * Signing in with an OpenID provider at another site, as a browser does it: with its rules for cookies and redirects.
 */
import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK } from 'jose';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startConsole, type TestConsole } from '../support/clients/console.ts';

const SECRET = 'a-client-secret-of-some-length-for-the-tests';

let server: Server;
let handler: RequestListener;
let console: TestConsole;

beforeAll(async () => {
  server = createServer((request, response) => handler(request, response)).listen(0);
  await new Promise((done) => server.once('listening', done));
  // Another name than that of the gateway, so that the two are not of the same site.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  console = await startConsole({
    env: {
      GATEWAY_OIDC__ISSUER: issuer,
      GATEWAY_OIDC__CLIENT_ID: 'headgate',
      GATEWAY_OIDC__CLIENT_SECRET: SECRET,
      GATEWAY_OIDC__NAME: 'Example',
      GATEWAY_OIDC__SCOPES: 'openid,profile',
      GATEWAY_OIDC__ROLES: 'ops=editor',
    },
  });
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const redirect = `${console.gateway.base}/api/v1/session/oidc/callback`;
  handler = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [{ client_id: 'headgate', client_secret: SECRET, redirect_uris: [redirect] }],
    cookies: { keys: ['a key for the cookies of the tests'] },
    claims: { openid: ['sub'], profile: ['name', 'groups'] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `${id} Example`, groups: ['ops'] }),
    }),
    features: { devInteractions: { enabled: true } },
  }).callback();
});
afterAll(async () => {
  await console?.close();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

it('leads back to the form, which says so, when the person cancels', async () => {
  const { page } = await console.open('/history', 'visitor');
  await page.getByRole('link', { name: 'Sign in with Example' }).click();
  await page.getByText('Cancel').click();
  await page.getByRole('alert').filter({ hasText: 'cancelled' }).waitFor();
  expect(new URL(page.url()).search).toBe('');
  const again = page.getByRole('link', { name: 'Sign in with Example' });
  expect(await again.getAttribute('href'), 'the next sign-in does not lead back to the failure').toMatch(
    /return_to=%2F$/,
  );
  await page.getByLabel('Admin token').fill(await console.token('viewer'));
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
});

it('leads through the page of the provider and back to the page that was asked for', async () => {
  const { page } = await console.open('/history?order=newest', 'visitor');
  await page.getByText('Example').first().click();
  await page.locator('input[name=login]').fill('ada');
  await page.locator('input[name=password]').fill('any');
  await page.locator('button[type=submit]').click();
  await page.locator('input[name=prompt][value=consent]').waitFor({ state: 'attached' });
  await page.locator('button[type=submit]').click();

  await page.getByRole('heading', { level: 1, name: 'History' }).waitFor();
  await page.getByRole('button', { name: 'Account: ada Example editor' }).waitFor();
  const { origin, pathname } = new URL(page.url());
  expect([origin, pathname]).toEqual([console.gateway.base, '/history']);
  const cookies = await page.context().cookies(console.gateway.base);
  expect(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite])).toEqual([
    ['headgate_session', true, 'Strict'],
  ]);
  expect(await page.evaluate('document.referrer')).not.toContain('code=');
});
