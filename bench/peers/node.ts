/** The peers that are Node.js programs of a few lines, and Caddy. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, newFolder, startProgram, type RunningProgram } from '../processes.ts';
import { findProgram } from '../programs.ts';
import { benchToken } from '../service.ts';
import type { Peer, PeerSetup } from './peer.ts';

const UNDICI = join(import.meta.dirname, 'undici-proxy.ts');
const RELAY = join(import.meta.dirname, 'node-relay.ts');
const FASTIFY = join(import.meta.dirname, 'fastify-proxy.ts');
const PACKAGES = join(import.meta.dirname, '../../node_modules');

export const nodeUndici: Peer = {
  name: 'node:http + undici',
  start: (setup) => startNode('node:http + undici', UNDICI, setup, {}),
};

export const nodeRelay: Peer = {
  name: 'node TCP relay',
  start: (setup) => startNode('node TCP relay', RELAY, setup, {}),
};

export const fastifyProxy: Peer = {
  name: '@fastify/http-proxy',
  start: (setup) => startNode('@fastify/http-proxy', FASTIFY, setup, {}),
};

/** With @fastify/rate-limit, the key and its scope in a hook, and CORS by hand. */
export const fastifyPolicy: Peer = {
  name: '@fastify/http-proxy + policy',
  start: (setup) => startNode('@fastify/http-proxy + policy', FASTIFY, setup, { BENCH_KEY: benchToken(0) }),
};

/** A gateway from npm that is not among the project's packages; undefined when it is not installed. */
export function npmGateway(name: 'fast-gateway' | 'express-gateway'): Peer | undefined {
  if (!existsSync(join(PACKAGES, name))) return undefined;
  return { name, start: (setup) => startNode(name, join(import.meta.dirname, `${name}.ts`), setup, {}) };
}

async function startNode(
  name: string,
  program: string,
  { originPort, cores }: PeerSetup,
  env: Readonly<Record<string, string>>,
): Promise<RunningProgram> {
  const port = await freePort();
  const folder = newFolder(name.replaceAll(/\W+/g, '-'));
  return startProgram({
    name,
    command: [process.execPath, '--disable-warning=ExperimentalWarning', program],
    cores: cores.proxy,
    folder,
    port,
    env: {
      ...env,
      BENCH_FOLDER: folder,
      BENCH_PORT: String(port),
      BENCH_ORIGIN_PORT: String(originPort),
      NODE_ENV: 'production',
    },
  });
}

/** undefined when it is not installed. */
export function caddy(): Peer | undefined {
  const program = findProgram('caddy');
  if (program === undefined) return undefined;
  return {
    name: 'caddy',
    start: async ({ originPort, cores, workers, accessLog }) => {
      const folder = newFolder('caddy');
      const port = await freePort();
      writeFileSync(
        join(folder, 'Caddyfile'),
        `{\n  admin off\n  auto_https off\n}\nhttp://127.0.0.1:${port} {\n` +
          `  ${accessLog ? `log {\n    output file ${folder}/access.log\n  }` : ''}\n` +
          `  reverse_proxy 127.0.0.1:${originPort}\n}\n`,
      );
      return startProgram({
        name: 'caddy',
        command: [program, 'run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')],
        cores: cores.proxy,
        folder,
        port,
        env: { HOME: folder, GOMAXPROCS: String(workers) },
      });
    },
  };
}
