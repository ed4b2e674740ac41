/** A gateway that serves files in place of a database, with a backend for its apps. */
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startOrigin, type Origin } from './backends/origin.ts';
import { startGateway, type GatewayOptions, type TestGateway } from './gateway.ts';
import { until } from './measure/until.ts';

export interface FileRig {
  readonly origin: Origin;
  /** Removed at the end. */
  readonly folder: string;
  /** @param path relative to the folder */
  start(path: string, options?: Partial<GatewayOptions>): Promise<TestGateway>;
  /** Writes in place. @returns the absolute path */
  write(path: string, text: string): string;
  /** Writes a new file and renames it onto the path. */
  replace(path: string, text: string): void;
  /** As a kubelet mounts a ConfigMap: `<folder>/..data` leads to a new folder, and each name through it. */
  mount(path: string, files: Readonly<Record<string, string>>): void;
  end(): Promise<void>;
}

export async function startFileRig(): Promise<FileRig> {
  const origin = await startOrigin();
  const folder = mkdtempSync(join(tmpdir(), 'headgate-file-'));
  const running: TestGateway[] = [];
  let generation = 0;
  const at = (path: string): string => join(folder, path);
  return {
    origin,
    folder,
    async start(path, options = {}) {
      const env = { GATEWAY_CONFIG_FILE: path, GATEWAY_DATABASE_URL: '', ...options.env };
      const gateway = await startGateway({ ...options, folder, env });
      running.push(gateway);
      return gateway;
    },
    write(path, text) {
      writeFileSync(at(path), text);
      return at(path);
    },
    replace(path, text) {
      writeFileSync(at(`${path}.new`), text);
      renameSync(at(`${path}.new`), at(path));
    },
    mount(path, files) {
      mkdirSync(at(path), { recursive: true });
      const name = `..generation-${++generation}`;
      mkdirSync(at(`${path}/${name}`));
      for (const [file, text] of Object.entries(files)) writeFileSync(at(`${path}/${name}/${file}`), text);
      symlinkSync(name, at(`${path}/..data_tmp`));
      renameSync(at(`${path}/..data_tmp`), at(`${path}/..data`));
      for (const file of Object.keys(files)) {
        if (!existsSync(at(`${path}/${file}`))) symlinkSync(`..data/${file}`, at(`${path}/${file}`));
      }
    },
    async end() {
      for (const gateway of running.splice(0)) await gateway.kill();
      await origin.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface DeclaredService {
  readonly slug?: string;
  readonly port: number;
  readonly endpoints?: readonly string[];
  /** Further lines of the app. */
  readonly app?: string;
}

/** One app as an item of `apps`, in YAML. */
export function appYaml({ slug = 'a', port, endpoints = ['GET /x'], app = '' }: DeclaredService): string {
  return `  ${slug}:
    gateway_path: /${slug}
    routing_mode: managed_endpoint
${app}    versions:
      v1:
        revisions:
          r1:
            backend_scheme: http
            backend_host: 127.0.0.1
            backend_port: ${port}
            is_current: true
            endpoints:
${endpoints.map((endpoint) => `              ${endpoint}:\n`).join('')}`;
}

export function configYaml(...apps: readonly DeclaredService[]): string {
  return `apps:\n${apps.map(appYaml).join('')}`;
}

export async function statusOf(
  gateway: TestGateway,
  path: string,
  headers: Record<string, string> = {},
): Promise<number> {
  const response = await fetch(gateway.proxy + path, { headers });
  await response.arrayBuffer();
  return response.status;
}

/** Waits until a request is answered so. */
export async function untilStatus(gateway: TestGateway, path: string, status: number): Promise<void> {
  await until(async () => (await statusOf(gateway, path)) === status, 20_000, 20, `${path} → ${status}`);
}

/** Waits until the files are what is served, or are refused. */
export async function untilState(
  gateway: TestGateway,
  state: 'current' | 'refused',
  // oxlint-disable-next-line typescript/no-explicit-any -- looked into freely by tests
): Promise<any> {
  return until(
    async () => {
      const data = await gateway.must('GET', '/config/file');
      return data.state === state && data;
    },
    20_000,
    50,
    `state ${state}`,
  );
}
