import { describe, expect, it } from 'vitest';
import { FULL_SHARES, memoryProblem, memoryShares, workersFor } from './memory-shares.ts';
import { readSettings } from './settings.ts';
import { settingsInForce } from './settings-in-force.ts';

const MIB = 1024 * 1024;

describe('shares of memory', () => {
  it('are full where memory is plentiful', () => {
    expect(memoryShares({ workers: 2, hasTls: false }, 16 * 1024 * MIB)).toEqual(FULL_SHARES);
    expect(memoryShares({ workers: 8, hasTls: true }, 64 * 1024 * MIB)).toEqual(FULL_SHARES);
  });

  it.each([
    [256, 1, 'without'],
    [256, 2, 'without'],
    [256, 2, 'with'],
    [512, 2, 'without'],
    [512, 4, 'with'],
    [1_024, 2, 'with'],
    [2_048, 4, 'without'],
    [4_096, 8, 'with'],
    [8_192, 16, 'without'],
  ])('of %i MiB with %i workers and %s TLS fit into it, beside the program', (mebibytes, workers, tls) => {
    const hasTls = tls === 'with';
    const shares = memoryShares({ workers, hasTls }, mebibytes * MIB);
    // What one attack can fill: connections that are idle, or exchanges with what passes through them.
    const ofWorker = Math.max(
      shares.connections * (hasTls ? 54 : 8) * 1024 + shares.incompleteHeadBytes,
      shares.exchanges * 40 * 1024 + shares.passingBytes + shares.bufferedRequestBytes,
    );
    const program = (96 + 20 * workers) * MIB;
    expect(program + workers * ofWorker + shares.statsBytes + shares.counterBytes).toBeLessThan(
      mebibytes * MIB,
    );
    expect(shares.exchanges).toBeGreaterThanOrEqual(100);
    expect(shares.connections).toBeGreaterThanOrEqual(hasTls ? 100 : 500);
  });

  it('leave each worker something to work with, however little memory there is', () => {
    const shares = memoryShares({ workers: 16, hasTls: true }, 64 * MIB);
    for (const share of Object.values<number>({ ...shares })) expect(share).toBeGreaterThan(0);
  });
});

it('are the defaults of settings, for as many workers as there are', () => {
  const env = { GATEWAY_WORKERS: '256', GATEWAY_PROXY__MAX_CONNECTIONS: '7' };
  const result = readSettings(env);
  if (!('settings' in result)) throw new Error(result.errors.join(' '));
  const shares = memoryShares({ workers: 256, hasTls: false });
  expect(shares.exchanges).toBeLessThan(FULL_SHARES.exchanges);
  expect(result.settings.proxy).toMatchObject({
    maxConnections: 7,
    maxConcurrentExchanges: shares.exchanges,
    maxIncompleteHeadBytes: shares.incompleteHeadBytes,
    maxBufferedRequestBytes: shares.bufferedRequestBytes,
  });
  const shown = settingsInForce((name) => Reflect.get(env, name) as string | undefined);
  const row = (name: string) => shown.find((setting) => setting.name === `GATEWAY_PROXY__${name}`);
  expect(row('MAX_CONNECTIONS')).toMatchObject({ value: 7, default: shares.connections });
  expect(row('MAX_CONCURRENT_EXCHANGES')).toMatchObject({
    value: shares.exchanges,
    default: shares.exchanges,
    source: 'default',
  });
});

it.each([
  [
    'certificates in files',
    { GATEWAY_PROXY__TLS__CERT_FILE: '/c.pem', GATEWAY_PROXY__TLS__KEY_FILE: '/k.pem' },
  ],
  [
    'certificates by ACME for the hosts of all apps',
    {
      GATEWAY_ACME__DIRECTORY: 'letsencrypt',
      GATEWAY_ACME__ACCEPT_TERMS: 'true',
      GATEWAY_PROXY__TLS__PORT: '8443',
    },
  ],
])('count connections over TLS, with %s', (_name, tls) => {
  const env: Readonly<Record<string, string>> = { GATEWAY_WORKERS: '64', ...tls };
  const result = readSettings(env);
  if (!('settings' in result)) throw new Error(result.errors.join(' '));
  const { connections } = memoryShares({ workers: 64, hasTls: true });
  expect(connections).toBeLessThan(memoryShares({ workers: 64, hasTls: false }).connections);
  expect(result.settings.proxy.maxConnections).toBe(connections);
  const shown = settingsInForce((name) => env[name]);
  expect(shown.find(({ name }) => name === 'GATEWAY_PROXY__MAX_CONNECTIONS')?.value).toBe(connections);
});

it.each([
  [2, 128, 1],
  [2, 256, 1],
  [2, 384, 2],
  [8, 512, 3],
  [8, 16_384, 8],
])('a machine with %i cores and %i MiB has %i workers', (cores, mebibytes, workers) => {
  expect(workersFor(cores, mebibytes * MIB)).toBe(workers);
});

describe('too little memory', () => {
  it.each([
    [1, 176],
    [2, 224],
    [4, 320],
  ])('is less than the shares of %i workers need', (workers, mebibytes) => {
    expect(memoryProblem(workers, mebibytes * MIB)).toBeUndefined();
    expect(memoryProblem(workers, mebibytes * MIB - 1)).toMatch(
      new RegExp(`^there are ${mebibytes - 1} MiB of memory, and ${mebibytes} MiB are needed: .*more memory`),
    );
  });

  it('names the setting that would need less, where there is one', () => {
    expect(memoryProblem(1, 128 * MIB)).not.toContain('GATEWAY_WORKERS');
    expect(memoryProblem(2, 128 * MIB)).toMatch(/, or lower GATEWAY_WORKERS$/);
  });

  it('is no problem of the number of workers that such a container has by default', () => {
    for (const mebibytes of [192, 256, 384, 512, 1_024, 4_096])
      expect(memoryProblem(workersFor(64, mebibytes * MIB), mebibytes * MIB)).toBeUndefined();
  });
});
