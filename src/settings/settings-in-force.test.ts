import { describe, expect, it } from 'vitest';
import { settingsInForce, type SettingInForce } from './settings-in-force.ts';
import { SETTINGS } from './settings-table.ts';

function settings(env: Readonly<Record<string, string>> = {}): Readonly<Record<string, SettingInForce>> {
  return Object.fromEntries(settingsInForce((name) => env[name]).map((row) => [row.name, row]));
}

describe('settings as they are shown', () => {
  it('are all of the table, from the default or from the environment', () => {
    const shown = settings({ GATEWAY_WORKERS: ' 3 ', GATEWAY_SERVER__PORT: '' });
    expect(Object.keys(shown)).toEqual(Object.keys(SETTINGS));
    expect(shown['GATEWAY_WORKERS']).toMatchObject({ value: 3, source: 'environment', group: 'Process' });
    expect(shown['GATEWAY_SERVER__PORT']).toMatchObject({ value: 9090, default: 9090, source: 'default' });
    expect(shown['GATEWAY_PROXY__DRAIN_TIMEOUT_MS']?.unit).toBe('milliseconds');
    expect(shown['GATEWAY_PROXY__MIN_BODY_BYTES_PER_SEC']?.unit).toBe('bytes per second');
    expect(shown['GATEWAY_LOG__FORMAT']?.unit).toBeNull();
  });

  it('never have the value of a secret', () => {
    const names = Object.entries(SETTINGS).flatMap(([name, { secret }]) => (secret ? [name] : []));
    expect(names.length).toBeGreaterThan(3);
    const key = 'redis://u:hidden-hidden-hidden-hidden-hidden@h:1';
    const env = Object.fromEntries(names.map((name) => [name, key]));
    const shown = settings({ ...env, GATEWAY_SECRET_KEY: 'f0'.repeat(32) });
    for (const name of names) expect(shown[name]).toMatchObject({ value: '***', secret: true });
    expect(JSON.stringify(shown)).not.toMatch(/hidden-hidden|f0f0/);
    expect(settings()['GATEWAY_ADMIN_TOKEN']).toMatchObject({ value: null, source: 'default' });
  });

  it.each([
    ['postgres://user:pw@host:1/db?sslmode=require', 'postgres://***@host:1/db?sslmode=require'],
    ['postgres://user:p@w/x?y@host/db', 'postgres://***@host/db'],
    ['postgres://host/db?user=u&password=pw', 'postgres://host/db?user=***&password=***'],
    ['postgres://host/db?p%61ssword=pw', 'postgres://host/db?p%61ssword=***'],
    ['sqlite:///var/lib/a@b/x.db', 'sqlite:///var/lib/a@b/x.db'],
  ])('have no credentials in a URL: %s', (url, shown) => {
    expect(settings({ GATEWAY_DATABASE_URL: url })['GATEWAY_DATABASE_URL']?.value).toBe(shown);
  });
});
