/** The settings of a started gateway, through the management API and the command line. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, runToEnd, startGateway, type TestGateway } from '../../support/gateway.ts';
import { apiAs, expectData, expectProblem } from '../../support/management.ts';

const SECRET = 'a-shared-secret-of-more-than-32-characters';
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ env: { GATEWAY_JWT__SECRET: SECRET, GATEWAY_JWT__ALGORITHMS: 'HS256' } });
});
afterAll(() => gateway.stop());

describe('GET /settings', () => {
  it('shows a viewer what is in force, where it comes from, and no secret', async () => {
    const { token } = await gateway.must('POST', '/admin/tokens', { name: 'reader', role: 'viewer' });
    const answer = await apiAs(gateway, token, 'GET', '/settings');
    const { items } = expectData(answer);
    const byName = Object.fromEntries(items.map((item: { name: string }) => [item.name, item]));
    expect(byName['GATEWAY_WORKERS']).toMatchObject({ value: 1, source: 'environment', group: 'Process' });
    expect(byName['GATEWAY_JWT__ALGORITHMS']).toMatchObject({ value: ['HS256'], default: [] });
    expect(byName['GATEWAY_JWT__SECRET']).toMatchObject({ value: '***', secret: true });
    expect(byName['GATEWAY_JWT__ISSUER']).toMatchObject({ value: null, source: 'default' });
    const text = JSON.stringify(answer.body);
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain(ADMIN_TOKEN);
  });

  it('selects those that were set, and needs a token', async () => {
    const { items } = await gateway.must('GET', '/settings?changed=true');
    const names = items.map(({ name }: { name: string }) => name);
    expect(names).toContain('GATEWAY_JWT__SECRET');
    expect(names).not.toContain('GATEWAY_JWT__ISSUER');
    expectProblem(await apiAs(gateway, 'wrong', 'GET', '/settings'), 'unauthenticated');
  });

  it('is `headgate settings --changed`', async () => {
    const env = { HEADGATE_SERVER: gateway.base, HEADGATE_TOKEN: ADMIN_TOKEN };
    const { code, output } = await runToEnd(env, ['settings', '--changed']);
    expect(code).toBe(0);
    expect(output).toMatch(/^GATEWAY_WORKERS +environment +- +1$/m);
    expect(output).toMatch(/^GATEWAY_JWT__SECRET +environment +- +\*\*\*$/m);
    expect(output).not.toContain(SECRET);
  });
});
