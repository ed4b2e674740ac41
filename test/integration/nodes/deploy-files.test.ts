/**
 * The files of deploy/ as they are: what they name exists, secrets come from the environment, and the two gateways
 * differ in nothing but what is their own.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../../src/settings/settings-table.ts';
import { runToEnd, startGateway } from '../../support/gateway.ts';
import { DEPLOY, readComposeFile, type ComposeService } from '../../support/programs/compose-file.ts';
import { installedProgram } from '../../support/programs/install-program.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (name: string): string => readFileSync(join(DEPLOY, name), 'utf8');

const compose = readComposeFile();
const gateways = ['gateway-1', 'gateway-2'].map((name) => compose.services[name] as ComposeService);

describe('compose.yaml', () => {
  it('gives gateways and the migration settings that exist, with values that they take', async () => {
    const { readSettings } = await import('../../../src/settings/settings.ts');
    for (const service of [...gateways, compose.services['migrate'] as ComposeService]) {
      const environment = service.environment ?? {};
      expect(Object.keys(environment).length).toBeGreaterThan(5);
      expect(Object.keys(environment).filter((name) => !(name in SETTINGS))).toEqual([]);
      const filled = Object.entries(environment).map(([name, value]) => [
        name,
        value.replaceAll(/\$\{\w+:\?[^}]*\}/g, 'ab'.repeat(32)),
      ]);
      const result = readSettings(Object.fromEntries(filled) as Record<string, string>);
      expect('errors' in result ? result.errors : []).toEqual([]);
      expect(result.warnings).toEqual([]);
    }
  });

  it('has two gateways that differ in their volume only', () => {
    const [first, second] = gateways.map((service) => ({ ...service, volumes: [] }));
    expect(first).toEqual(second);
    expect(gateways.map(({ volumes }) => volumes)).toEqual([
      ['gateway-1:/var/lib/headgate'],
      ['gateway-2:/var/lib/headgate'],
    ]);
    expect(compose.volumes).toHaveProperty('gateway-1');
    expect(compose.volumes).toHaveProperty('gateway-2');
  });

  it('holds no secret: each comes from a variable that .env.example explains', () => {
    const variables = [...read('compose.yaml').matchAll(/\$\{(\w+)(:\?[^}]*)?\}/g)];
    const explained = [...read('.env.example').matchAll(/^(\w+)=$/gm)].map(([, name]) => name);
    expect(new Set(variables.map(([, name]) => name))).toEqual(new Set(explained));
    // Without a value nothing starts.
    expect(variables.filter(([, , refusal]) => refusal === undefined)).toEqual([]);
    expect(readFileSync(join(ROOT, '.gitignore'), 'utf8')).toMatch(/^deploy\/\.env$/m);
  });

  it('names services, files and addresses that are there', () => {
    const names = Object.keys(compose.services);
    for (const service of Object.values(compose.services)) {
      for (const other of Object.keys(service.depends_on ?? {})) expect(names).toContain(other);
      for (const volume of service.volumes ?? []) {
        const [from = ''] = volume.split(':');
        if (from.startsWith('.')) expect(existsSync(join(DEPLOY, from)), from).toBe(true);
        else expect(compose.volumes).toHaveProperty([from]);
      }
      if (service.build === undefined) continue;
      expect(existsSync(join(DEPLOY, service.build.context, service.build.dockerfile))).toBe(true);
    }
    const trusted = gateways[0]?.environment?.['GATEWAY_TRUSTED_PROXY_IPS'];
    expect(compose.services['balancer']?.networks).toEqual({ inside: { ipv4_address: trusted } });
  });

  it('gives a gateway longer to stop than it may take', () => {
    const { environment = {}, stop_grace_period: patience = '' } = gateways[0] as ComposeService;
    const ms = (name: string): number => Number(environment[name]);
    const neededMs = ms('GATEWAY_PROXY__DRAIN_GRACE_MS') + ms('GATEWAY_PROXY__DRAIN_TIMEOUT_MS') + 5_000;
    expect(Number.parseInt(patience, 10) * 1_000).toBeGreaterThan(neededMs);
  });
});

describe('Dockerfile', () => {
  it('copies what exists and what its .dockerignore lets through', () => {
    const sources = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = '']) =>
      list.split(' '),
    );
    expect(sources.length).toBeGreaterThan(4);
    const allowed = [...read('Dockerfile.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path]) => path);
    for (const source of sources) {
      expect(existsSync(join(ROOT, source)), source).toBe(true);
      expect(allowed).toContain(source.replace(/^\.\//, ''));
    }
  });

  it('sets settings that exist', () => {
    const names = [...read('Dockerfile').matchAll(/\b(GATEWAY_\w+)=/g)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(1);
    expect(names.filter((name) => !(name in SETTINGS))).toEqual([]);
  });

  const words = (instruction: RegExp): string[] =>
    JSON.parse(instruction.exec(read('Dockerfile'))?.[1] ?? 'null') as string[];

  it('asks a gateway for its health with the program that it starts, with TLS too', async () => {
    const health = words(/^HEALTHCHECK .*\\\n +CMD (\[.*\])$/m);
    const entrypoint = words(/^ENTRYPOINT (\[.*\])$/m);
    expect(health.slice(0, entrypoint.length)).toEqual(entrypoint);
    const args = health.slice(entrypoint.length);
    const ca = join(ROOT, 'test/support/tls/ca.pem');
    const gateway = await startGateway({
      env: {
        GATEWAY_SERVER__TLS__CERT_FILE: join(ROOT, 'test/support/tls/backend.pem'),
        GATEWAY_SERVER__TLS__KEY_FILE: join(ROOT, 'test/support/tls/backend-key.pem'),
      },
    });
    const ask = async (env: Readonly<Record<string, string>>): Promise<number | null> => {
      const server = `${env['HEADGATE_CA'] === undefined ? 'http' : 'https'}://127.0.0.1:${gateway.managementPort}`;
      return (await runToEnd({ HEADGATE_SERVER: server, ...env }, args)).code;
    };
    try {
      expect(await ask({ HEADGATE_CA: ca })).toBe(0);
      expect(await ask({})).toBe(1);
    } finally {
      await gateway.stop();
    }
    expect(await ask({ HEADGATE_CA: ca })).toBe(1);
  });
});

describe('haproxy.cfg', () => {
  it('is one that HAProxy takes, and leads to the gateways of compose.yaml', () => {
    const haproxy = installedProgram('haproxy', 'haproxy');
    const said = execFileSync(haproxy, ['-c', '-V', '-f', join(DEPLOY, 'haproxy.cfg')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: dirname(haproxy) },
    });
    expect(said).toContain('Configuration file is valid');
    const servers = [...read('haproxy.cfg').matchAll(/^ +server (\S+) "\$\{\w+-([\w-]+)\}/gm)];
    expect(servers.map(([, name]) => name)).toEqual(['gateway-1', 'gateway-2', 'gateway-1', 'gateway-2']);
    for (const [, name, host] of servers) {
      expect(host).toBe(name);
      expect(compose.services).toHaveProperty([name ?? '']);
    }
  });
});
