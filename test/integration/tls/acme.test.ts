/**
 * The started program orders certificates from a real ACME authority, behind a relay that can fail: what clients are
 * served, what the authority is asked, and what operators see.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDnsServer, type DnsServer } from '../../support/backends/dns-server.ts';
import { freePorts } from '../../support/backends/origin-process.ts';
import { handshake } from '../../support/clients/handshake.ts';
import { explain, stageOf } from '../../support/explain.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { until } from '../../support/measure/until.ts';
import {
  DIRECTORY_CA_FILE,
  ORDER_PATH,
  startPebble,
  type Pebble,
  type PebbleOptions,
} from '../../support/programs/pebble.ts';
import { createApp } from '../../support/traffic.ts';

const WAIT_MS = 30_000;

let dns: DnsServer;
const folders: string[] = [];
beforeAll(async () => {
  dns = await startDnsServer();
});
afterAll(() => {
  dns?.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Rig {
  readonly pebble: Pebble;
  readonly tlsPort: number;
  readonly httpPort: number;
  /** On the same ports and folder; the gateway before must have ended. */
  start(env?: Readonly<Record<string, string>>): Promise<TestGateway>;
}

async function rigOf(options: Partial<PebbleOptions> = {}): Promise<Rig> {
  const [httpPort = 0, tlsPort = 0] = await freePorts(2);
  const pebble = await startPebble({ dnsServer: dns.address, httpPort, tlsPort, ...options });
  const folder = mkdtempSync(join(tmpdir(), 'headgate-acme-'));
  folders.push(folder);
  const start: Rig['start'] = (env) =>
    startGateway({
      folder,
      env: {
        GATEWAY_ACME__DIRECTORY: pebble.directory,
        GATEWAY_ACME__ACCEPT_TERMS: 'true',
        GATEWAY_ACME__CA_FILE: DIRECTORY_CA_FILE,
        GATEWAY_ACME__SELF_CHECK: 'false',
        GATEWAY_ACME__RETRY_SECS: '1',
        GATEWAY_PROXY__PORT: String(httpPort),
        GATEWAY_PROXY__TLS__PORT: String(tlsPort),
        GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '2000',
        ...env,
      },
    });
  return { pebble, tlsPort, httpPort, start };
}

/** The serial number of the certificate that is served, once there is one. */
function served(port: number, name: string): Promise<string> {
  return until(
    async () => {
      const shown = await handshake(port, name);
      return 'serial' in shown && shown.serial;
    },
    WAIT_MS,
    100,
    `${name} has a certificate`,
  );
}

interface Entry {
  readonly name: string;
  readonly state: string;
  readonly order: string;
  readonly failures: number;
  readonly last_error: string | null;
  readonly next_try_at: string | null;
}

const entries = async (gateway: TestGateway): Promise<Entry[]> =>
  (await gateway.must('GET', '/certificates')) as Entry[];
const entryOf = async (gateway: TestGateway, name: string): Promise<Entry | undefined> =>
  (await entries(gateway)).find((entry) => entry.name === name);
function clockAheadBy(days: number): Record<string, string> {
  return {
    NODE_OPTIONS: `--require ${resolve(import.meta.dirname, '../../support/measure/skewed-clock.cjs')}`,
    TEST_CLOCK_SKEW_MS: String(days * 86_400_000),
  };
}

async function hasProblem(gateway: TestGateway, text: string): Promise<boolean> {
  const problems = (await gateway.must('GET', '/problems')) as { readonly detail: string }[];
  return problems.some(({ detail }) => detail.includes(text));
}

const problemCodes = async (gateway: TestGateway): Promise<string[]> =>
  ((await gateway.must('GET', '/problems')) as { code: string }[]).map(({ code }) => code);

describe('one gateway', () => {
  const NAME = 'shop.acme.test';
  let rig: Rig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await rigOf();
    dns.setA(NAME, ['127.0.0.1']);
    gateway = await rig.start({ GATEWAY_WORKERS: '2', GATEWAY_PROXY__HTTPS_REDIRECT_PORT: '443' });
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await rig?.pebble.close();
  });

  it('gets a certificate for the host of an app, with one order', async () => {
    await createApp(gateway, 'shop', { hosts: [NAME] });
    await served(rig.tlsPort, NAME);
    const shown = await handshake(rig.tlsPort, NAME, { ca: await rig.pebble.root() });
    expect(shown).toMatchObject({ names: `DNS:${NAME}`, protocol: false });
    expect(rig.pebble.orders).toEqual([NAME]);
    expect(await entryOf(gateway, NAME)).toMatchObject({
      state: 'valid',
      order: 'none',
      failures: 0,
      last_error: null,
    });
  }, 60_000);

  it('refuses handshakes for other names, and counts them', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
      expect(await handshake(rig.tlsPort, 'other.acme.test', { maxVersion })).toHaveProperty('error');
    expect(await handshake(rig.tlsPort, NAME, { ALPNProtocols: ['acme-tls/1'] })).toHaveProperty('error');
    const metrics = await gateway.api('GET', '//metrics');
    expect(String(metrics.body)).toMatch(/no_certificate"\} [1-9]/);
    expect(String(metrics.body)).toContain('headgate_acme_orders_total{result="issued"} 1');
    expect(String(metrics.body)).toMatch(/headgate_acme_certificates\{state="valid"\} 1/);
  });

  it('routes requests for answers that do not exist, and redirects as the settings say', async () => {
    const url = `${gateway.proxy}/.well-known/acme-challenge/none`;
    const response = await fetch(url, { redirect: 'manual' });
    expect(response.status).toBe(308);
  });

  it('explains the question of an authority, before the redirect', async () => {
    const asked = 'asked.acme.test';
    dns.setA(asked, ['127.0.0.1']);
    const pathOf = () =>
      gateway
        .logs()
        .findLast(
          ({ path, status }) => status === 200 && String(path).startsWith('/.well-known/acme-challenge/'),
        );
    const before = pathOf()?.['request_id'];
    // Once it has the answer, the authority says nothing more: the order stays under way.
    let isAnswered = false;
    rig.pebble.fate = ({ path }) => {
      isAnswered ||= pathOf()?.['request_id'] !== before;
      return isAnswered && !path.startsWith('/nonce') ? 'silent' : 'pass';
    };
    await gateway.must('PUT', '/explain/sampling', { rate: 1, seconds: 60 });
    await gateway.must('PATCH', '/apps/shop', { hosts: [NAME, asked] });
    const line = await until(
      async () => pathOf()?.['request_id'] !== before && pathOf(),
      WAIT_MS,
      50,
      'the authority has asked',
    );
    const explained = {
      recorded: await gateway.must('GET', `/explain/${String(line['request_id'])}`),
      described: await explain(gateway, { method: 'GET', url: `http://${asked}${String(line['path'])}` }),
    };
    for (const explanation of Object.values(explained)) {
      expect(explanation).toMatchObject({ outcome: 'answered', response: { status: 200, body: null } });
      expect(stageOf(explanation, 'acme_challenge')).toMatchObject({
        verdict: 'answered',
        detail: expect.stringContaining('GATEWAY_ACME__DIRECTORY'),
      });
      expect(stageOf(explanation, 'https_redirect').verdict).toBe('skipped');
    }
    const other = await explain(gateway, { method: 'GET', url: `http://${asked}/x` });
    expect(stageOf(other, 'acme_challenge').verdict).toBe('passed');
    expect(stageOf(other, 'https_redirect').verdict).toBe('answered');
    rig.pebble.fate = () => 'pass';
    await served(rig.tlsPort, asked);
  }, 60_000);

  it('orders nothing for a wildcard, and says so', async () => {
    const answer = await gateway.api('PATCH', '/apps/shop', { hosts: [NAME, '*.acme.test'] });
    expect(answer.body.warnings).toMatchObject([
      { code: 'host_wildcard_without_certificate', pointer: '/hosts/1' },
    ]);
    expect((await entries(gateway)).map(({ name }) => name)).toEqual([NAME]);
  });

  it('tries again when an order has failed, and says why it failed', async () => {
    const late = 'late.acme.test';
    await gateway.must('PATCH', '/apps/shop', { hosts: [NAME, late] });
    const failed = await until(async () => {
      const entry = await entryOf(gateway, late);
      return entry !== undefined && entry.last_error !== null && entry;
    }, WAIT_MS);
    expect(failed).toMatchObject({ state: 'missing' });
    expect(await problemCodes(gateway)).toContain('certificate_order_failed');
    dns.setA(late, ['127.0.0.1']);
    await served(rig.tlsPort, late);
    await until(async () => (await entryOf(gateway, late))?.last_error === null, WAIT_MS);
    expect(await problemCodes(gateway)).not.toContain('certificate_order_failed');
  }, 60_000);

  it('renews on request, and records who requested it', async () => {
    const before = await served(rig.tlsPort, NAME);
    expect((await gateway.api('POST', '/certificates/nothing.test/renew')).status).toBe(404);
    await gateway.must('POST', `/certificates/${NAME}/renew`);
    await until(async () => (await served(rig.tlsPort, NAME)) !== before, WAIT_MS, 50);
    const audit = (await gateway.must('GET', '/audit?action=certificate.renew')) as {
      resource_name: string;
    }[];
    expect(audit.map(({ resource_name: name }) => name)).toEqual([NAME]);
  }, 60_000);

  it('shows its private keys nowhere', async () => {
    for (const path of ['/certificates', '/audit', '/state', '//metrics'])
      expect(JSON.stringify((await gateway.api('GET', path)).body)).not.toContain('PRIVATE');
    const backup = await gateway.api('GET', '/config/backup');
    expect(JSON.stringify(backup.body ?? '')).not.toMatch(/PRIVATE|acme_account/);
    expect(gateway.output()).not.toContain('PRIVATE');
    for (const file of readdirSync(gateway.folder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      expect(readFileSync(join(file.parentPath, file.name), 'latin1')).not.toContain('PRIVATE KEY');
    }
  });

  it('orders nothing by a wrong clock, by which everything has expired, and serves it while the directory is dead', async () => {
    const serial = await served(rig.tlsPort, NAME);
    const before = rig.pebble.orders.length;
    await gateway.stop();
    gateway = await rig.start(clockAheadBy(3_650));
    await until(() => hasProblem(gateway, '3650.0 days ahead of'), WAIT_MS, 50);
    expect(await entryOf(gateway, NAME)).toMatchObject({ state: 'expired', order: 'waiting', failures: 0 });
    await gateway.stop();
    rig.pebble.fate = () => 'lost';
    gateway = await rig.start();
    expect(await handshake(rig.tlsPort, NAME)).toMatchObject({ serial });
    expect(rig.pebble.orders).toHaveLength(before);
  }, 60_000);
});

describe('an authority that looks at the TLS port, and says when to renew', () => {
  const NAME = 'alpn.acme.test';
  let rig: Rig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await rigOf();
    dns.setA(NAME, ['127.0.0.1']);
    const hourMs = 3_600_000;
    // The first certificate is to be renewed at once, such as before it is revoked.
    rig.pebble.extra.set('/renewalInfo', () => {
      const startMs = Date.now() + (rig.pebble.orders.length < 2 ? -hourMs : 24 * hourMs);
      const window = { start: new Date(startMs).toISOString(), end: new Date(startMs + 1_000).toISOString() };
      return { suggestedWindow: window };
    });
    gateway = await rig.start({
      GATEWAY_ACME__CHALLENGES: 'tls-alpn-01',
      GATEWAY_ACME__KEY_TYPE: 'rsa-2048',
    });
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await rig?.pebble.close();
  });

  it('gets its certificate, and renews it when the authority says so', async () => {
    await createApp(gateway, 'shop', { hosts: [NAME] });
    const first = await served(rig.tlsPort, NAME);
    await until(async () => (await served(rig.tlsPort, NAME)) !== first, WAIT_MS, 50, 'it is renewed');
    expect(rig.pebble.orders).toEqual([NAME, NAME]);
    expect(await handshake(rig.tlsPort, NAME, { ALPNProtocols: ['h2'] })).toMatchObject({ protocol: 'h2' });
    expect(await handshake(rig.tlsPort, NAME, { ALPNProtocols: ['acme-tls/1'] })).toHaveProperty('error');
  }, 60_000);

  it('gets others while the authority does not say when to renew the first', async () => {
    const isQuestion = ({ path }: { readonly path: string }): boolean => path.startsWith('/renewalInfo');
    const names = [NAME, 'alpn-2.acme.test', 'alpn-3.acme.test'];
    for (const name of names) dns.setA(name, ['127.0.0.1']);
    rig.pebble.fate = (request) => (isQuestion(request) ? 'silent' : 'pass');
    const asked = rig.pebble.requests.filter(isQuestion).length;
    await gateway.must('PATCH', '/apps/shop', { hosts: names.slice(0, 2) });
    await served(rig.tlsPort, 'alpn-2.acme.test');
    await until(() => rig.pebble.requests.filter(isQuestion).length > asked, WAIT_MS, 20, 'it is asked');
    await gateway.must('PATCH', '/apps/shop', { hosts: names });
    const startedMs = performance.now();
    await served(rig.tlsPort, 'alpn-3.acme.test');
    // One question waits for 20 s.
    expect(performance.now() - startedMs).toBeLessThan(15_000);
  }, 60_000);

  it('tells of a clock that is behind, by which no certificate expires and no order is due', async () => {
    await gateway.stop();
    rig.pebble.fate = () => 'pass';
    const before = rig.pebble.orders.length;
    gateway = await rig.start(clockAheadBy(-30));
    await until(() => hasProblem(gateway, '30.0 days behind'), WAIT_MS, 50);
    expect(rig.pebble.orders).toHaveLength(before);
  }, 60_000);
});

describe('certificates that live for seconds', () => {
  const NAME = 'short.acme.test';
  let rig: Rig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await rigOf({ validitySecs: 6 });
    dns.setA(NAME, ['127.0.0.1']);
    gateway = await rig.start();
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await rig?.pebble.close();
  });

  it('are renewed before they expire, and never shown once they have', async () => {
    await createApp(gateway, 'shop', { hosts: [NAME] });
    const serials = new Set([await served(rig.tlsPort, NAME)]);
    let [shown, expired] = [0, 0];
    const look = async (): Promise<boolean> => {
      const seen = await handshake(rig.tlsPort, NAME);
      if ('error' in seen) return false;
      shown += 1;
      serials.add(seen.serial);
      // Between the handshake and this line a moment has passed.
      if (seen.expiresAtMs + 1_000 < Date.now()) expired += 1;
      return true;
    };
    await until(async () => (await look()) && serials.size >= 3, WAIT_MS, 80, 'it is renewed twice');
    // The next renewal fails: the certificate is not shown beyond its end.
    rig.pebble.fate = () => 'lost';
    await until(async () => !(await look()), WAIT_MS, 20, 'handshakes are refused');
    await pause(200);
    expect(await look()).toBe(false);
    expect(expired).toBe(0);
    expect(shown).toBeGreaterThan(20);
    const [{ state } = { state: '' }] = await entries(gateway);
    expect(state).toBe('expired');
  }, 90_000);
});

describe('a gateway that is killed at each step of an order', () => {
  const STEPS = [ORDER_PATH, '/authZ', '/chalZ', '/finalize-order', '/certZ'];
  let rig: Rig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await rigOf();
    gateway = await rig.start();
  }, 60_000);
  afterAll(async () => {
    await gateway?.kill();
    await rig?.pebble.close();
  });

  it('continues the same order after a restart', async () => {
    await createApp(gateway, 'shop', { hosts: [] });
    for (const [index, step] of STEPS.entries()) {
      const name = `k${index}.acme.test`;
      dns.setA(name, ['127.0.0.1']);
      const killed = Promise.withResolvers<void>();
      // The authority does what it was asked; the gateway does not live to hear of it.
      rig.pebble.fate = ({ path }) => {
        if (!path.startsWith(step)) return 'pass';
        gateway.process.kill('SIGKILL');
        killed.resolve();
        // An authority that looks at an answer while there is no gateway refuses the order.
        return step === '/chalZ' ? 'lost' : 'unheard';
      };
      await gateway.must('PATCH', '/apps/shop', { hosts: [name] });
      await killed.promise;
      await gateway.kill();
      rig.pebble.fate = () => 'pass';
      gateway = await rig.start();
      await served(rig.tlsPort, name);
      expect(rig.pebble.orders.filter((each) => each === name)).toEqual([name]);
    }
  }, 120_000);
});

describe('a gateway that stops while it waits for the authority', () => {
  const NAME = 'waits.acme.test';
  const SLOW_ADDRESS = '127.0.0.77';
  // Longer than the test waits.
  const env = { GATEWAY_CLUSTER__NODE_TIMEOUT_MS: '120000' };

  it('leaves its orders to the next one at once', async () => {
    const rig = await rigOf();
    // The authority asks a server there, which does not answer.
    const asked = Promise.withResolvers<void>();
    const slow = createServer(() => asked.resolve()).listen(rig.httpPort, SLOW_ADDRESS);
    dns.setA(NAME, [SLOW_ADDRESS]);
    let gateway = await rig.start(env);
    try {
      await createApp(gateway, 'shop', { hosts: [NAME] });
      await asked.promise;
      await until(async () => (await entryOf(gateway, NAME))?.order === 'under_way', WAIT_MS, 20);
      await gateway.stop();
      dns.setA(NAME, ['127.0.0.1']);
      gateway = await rig.start(env);
      await served(rig.tlsPort, NAME);
      expect(await entryOf(gateway, NAME)).toMatchObject({ state: 'valid' });
    } finally {
      await gateway.stop();
      slow.close();
      await rig.pebble.close();
    }
  }, 60_000);
});

describe('an authority that wants the account of another system', () => {
  const NAME = 'bound.acme.test';
  const HMAC_KEY = Buffer.alloc(32, 7).toString('base64url');
  const bound = (key: string) => ({ GATEWAY_ACME__EAB_KID: 'kid-1', GATEWAY_ACME__EAB_HMAC_KEY: key });
  let rig: Rig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await rigOf({ externalAccounts: { 'kid-1': HMAC_KEY } });
    dns.setA(NAME, ['127.0.0.1']);
    gateway = await rig.start();
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await rig?.pebble.close();
  });

  const lastError = (text: string): Promise<boolean> =>
    until(
      async () => (await entryOf(gateway, NAME))?.last_error?.includes(text) === true,
      WAIT_MS,
      50,
      `an order fails with: ${text}`,
    );
  const restart = async (env: Readonly<Record<string, string>>): Promise<void> => {
    await gateway.stop();
    gateway = await rig.start(env);
  };

  it('makes no account without one, or with a wrong key of one, and says which settings it wants', async () => {
    await createApp(gateway, 'shop', { hosts: [NAME] });
    await lastError('GATEWAY_ACME__EAB_KID and GATEWAY_ACME__EAB_HMAC_KEY');
    await restart(bound(Buffer.alloc(32, 8).toString('base64url')));
    await lastError('JWS');
    expect((await entryOf(gateway, NAME))?.last_error).toContain(
      'no account was made with GATEWAY_ACME__EAB_KID',
    );
    expect(rig.pebble.orders).toEqual([]);
  }, 60_000);

  it('gets an account and a certificate with the right one', async () => {
    await restart(bound(HMAC_KEY));
    await served(rig.tlsPort, NAME);
    expect(JSON.stringify([gateway.logs(), await entries(gateway)])).not.toContain(HMAC_KEY);
  }, 60_000);

  // Such as a database of which only the file was restored.
  it('after a start with another secret key waits, then makes a new account and orders anew', async () => {
    const serial = await served(rig.tlsPort, NAME);
    const other = { ...bound(HMAC_KEY), GATEWAY_SECRET_KEY: 'b'.repeat(64) };
    await restart({ ...other, GATEWAY_ACME__RETRY_SECS: '600' });
    await lastError('not encrypted with the key of GATEWAY_SECRET_KEY');
    const entry = await entryOf(gateway, NAME);
    expect(entry).toMatchObject({ state: 'missing', order: 'waiting' });
    expect(Date.parse(entry?.next_try_at ?? '')).toBeGreaterThan(Date.now() + 500_000);
    // The secrets are looked at right after the start.
    await expect
      .poll(() => problemCodes(gateway))
      .toEqual(['certificate_order_failed', 'secrets_unreadable']);
    expect(await handshake(rig.tlsPort, NAME)).toHaveProperty('error');
    // The right key again: nothing was lost.
    await restart(bound(HMAC_KEY));
    expect(await served(rig.tlsPort, NAME)).toBe(serial);
    await restart(other);
    expect(await served(rig.tlsPort, NAME)).not.toBe(serial);
    expect(rig.pebble.orders).toEqual([NAME, NAME]);
    expect(await entryOf(gateway, NAME)).toMatchObject({ state: 'valid', last_error: null });
  }, 60_000);
});

describe('a directory that answers with junk', () => {
  const NAME = 'junk.acme.test';
  let rig: Rig;
  let gateway: TestGateway;
  beforeAll(async () => {
    rig = await rigOf();
    dns.setA(NAME, ['127.0.0.1']);
    rig.pebble.fate = () => 'junk';
    gateway = await rig.start();
  }, 60_000);
  afterAll(async () => {
    await gateway?.stop();
    await rig?.pebble.close();
  });

  const directoryProblem = (text: string): Promise<boolean> =>
    until(async () => {
      const problems = (await gateway.must('GET', '/problems')) as { code: string; detail: string }[];
      return problems.some(
        (each) => each.code === 'acme_directory_unavailable' && each.detail.includes(text),
      );
    }, WAIT_MS);

  it('is reported, and its certificate arrives once it works', async () => {
    await createApp(gateway, 'shop', { hosts: [NAME] });
    await directoryProblem('not JSON');
    rig.pebble.fate = () => 'huge';
    await directoryProblem('larger than');
    rig.pebble.fate = ({ path }) => (path === ORDER_PATH ? 'limited' : 'pass');
    await until(async () => (await problemCodes(gateway)).includes('certificate_orders_wait'), WAIT_MS);
    expect(await entryOf(gateway, NAME)).toMatchObject({ state: 'missing', failures: 0 });
    rig.pebble.fate = () => 'pass';
    await served(rig.tlsPort, NAME);
    expect(rig.pebble.orders).toEqual([NAME]);
    expect(await problemCodes(gateway)).toEqual([]);
  }, 90_000);
});
