/**
 * A real Prometheus with the rules of deploy/observability/, which scrapes the given targets each second: installed
 * through apt where it is missing and that is possible, else the test fails with the command to run.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { freePort, ready } from '../backends/origin-process.ts';
import { installedProgram } from './install-program.ts';
import { plainEnvironment } from './programs.ts';

export const RULES = resolve(import.meta.dirname, '../../../deploy/observability/rules');

export interface QuerySample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ActiveAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

export interface RuleHealth {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
}

export interface TestPrometheus {
  /** The samples now; throws with what Prometheus says when it cannot be run. */
  query(expr: string): Promise<QuerySample[]>;
  alerts(): Promise<ActiveAlert[]>;
  rules(): Promise<RuleHealth[]>;
  close(): Promise<void>;
}

/** @param targets `host:port` @param token for all of them */
export async function startPrometheus(targets: readonly string[], token: string): Promise<TestPrometheus> {
  const program = installedProgram('prometheus', 'prometheus');
  const folder = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'));
  const port = await freePort();
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(RULES, 'recording.yaml'), join(RULES, 'alerts.yaml')],
    scrape_configs: [
      {
        job_name: 'headgate',
        authorization: { credentials: token },
        static_configs: [{ targets }],
      },
    ],
  };
  writeFileSync(join(folder, 'prometheus.yaml'), stringify(config));
  const child = spawn(
    program,
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { cwd: folder, env: plainEnvironment(folder), stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors = (errors + chunk).slice(-4_000)));
  const exited = new Promise((done) => child.once('exit', done));
  const base = `http://127.0.0.1:${port}`;
  await ready(async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus ended:\n${errors}`);
    return fetch(`${base}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }, 'prometheus');
  return {
    query: async (expr) => {
      const { result } = await ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
        `${base}/api/v1/query?query=${encodeURIComponent(expr)}`,
      );
      return result.map(({ metric, value: [, text] }) => ({ metric, value: Number(text) }));
    },
    alerts: async () => (await ask<{ alerts: ActiveAlert[] }>(`${base}/api/v1/alerts`)).alerts,
    rules: async () =>
      (await ask<{ groups: { rules: RuleHealth[] }[] }>(`${base}/api/v1/rules`)).groups.flatMap(
        ({ rules }) => rules,
      ),
    close: async () => {
      child.kill('SIGTERM');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function ask<T>(url: string): Promise<T> {
  const response = await fetch(url);
  const body = (await response.json()) as { status: string; data: T; error?: string };
  if (body.status !== 'success') throw new Error(`Prometheus answers: ${body.error}`);
  return body.data;
}
