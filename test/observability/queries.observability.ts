/**
 * Every query of every dashboard and rule, run by a real Prometheus that scrapes real gateways: none fails, none is
 * empty, and alerts become active for what they are for, and for nothing else.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ALERTS_PAGE } from '../../scripts/observability/alert.ts';
import { DASHBOARDS, panelQueries } from '../../scripts/observability/files.ts';
import { RECORDING_GROUPS } from '../../scripts/observability/recording-rules.ts';
import { ALERTS } from '../../scripts/observability/rule-files.ts';
import { selectorsOf } from '../../scripts/observability/selectors.ts';
import { ADMIN_TOKEN } from '../support/gateway.ts';
import { until } from '../support/measure/until.ts';
import {
  RULES,
  startPrometheus,
  type QuerySample,
  type TestPrometheus,
} from '../support/programs/prometheus.ts';
import { installedProgram } from '../support/programs/install-program.ts';
import { startScene, type Scene } from './scene.ts';

/** Values of the variables of dashboards; the app is that of the panel. */
const VARIABLES: Readonly<Record<string, string>> = {
  job: '.*',
  instance: '.*',
  version: '.*',
  revision: '.*',
  __rate_interval: '15s',
};
const APPS = ['shop', 'broken', 'many', 'looked', 'http2'];
const ROUNDS = 6;
const RECORDED = RECORDING_GROUPS.flatMap(({ rules }) => rules.map(({ record }) => record));
const RECORD_WAIT_MS = 15_000;
/** Of a panel without data. */
const TRIES = 5;
const RETRY_MS = 2_000;
const ALERT_WAIT_MS = 60_000;
/** What `breakEverything` must be heard of, beside what the rounds do. */
const EXPECTED = [
  'HeadgateBackendFailing',
  'HeadgateBreakerOpen',
  'HeadgateCertificateExpires',
  'HeadgateCertificateExpiresSoon',
  'HeadgateClockDiffers',
  'HeadgateConfigFileRefused',
  'HeadgateDatabaseAway',
  'HeadgateDiscoveryStale',
  'HeadgateDown',
  'HeadgateErrorsBurnFast',
  'HeadgateErrorsBurnSlow',
  'HeadgateLatencyBurnFast',
  'HeadgateLatencyBurnSlow',
  'HeadgateLimitCountersEvicted',
  'HeadgateLimitStoreAway',
  'HeadgateNoTargetInService',
  'HeadgateOrderedCertificateMissing',
  'HeadgateOverloaded',
  'HeadgateRetryBudgetUsedUp',
  'HeadgateTargetOutOfService',
  'HeadgateTracesLost',
];

let scene: Scene;
let prometheus: TestPrometheus;
beforeAll(async () => {
  scene = await startScene();
  const targets = scene.gateways.map(({ managementPort }) => `127.0.0.1:${managementPort}`);
  prometheus = await startPrometheus(targets, ADMIN_TOKEN);
  // A counter that appears counts from its second reading on.
  for (let round = 0; round < ROUNDS; round++) await scene.round();
  // Panels read what rules record, and those what others have recorded, each a second later. A test below names what
  // is never recorded.
  const areAllRecorded = async (): Promise<boolean> => {
    const problems = await Promise.all(RECORDED.map((record) => problemOf(record)));
    return problems.every((problem) => problem === undefined);
  };
  await until(areAllRecorded, RECORD_WAIT_MS, 200).catch(() => undefined);
});
afterAll(async () => {
  await prometheus?.close();
  await scene?.close();
});

function filledIn(expr: string, app: string): string {
  return expr.replace(/\$(\w+)/g, (_all, name: string) => (name === 'app' ? app : (VARIABLES[name] ?? '')));
}

/**
 * Undefined where it has data for one of the apps; else what is wrong.
 * @param legend each label in it must be one of a sample
 */
async function problemOf(expr: string, legend = ''): Promise<string | undefined> {
  const apps = expr.includes('$app') ? APPS : [''];
  const samples: QuerySample[] = [];
  for (const app of apps) samples.push(...(await prometheus.query(filledIn(expr, app))));
  if (samples.length === 0) return 'no data';
  const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  const missing = labels.filter((label) => samples.every(({ metric }) => !metric[label]));
  if (missing.length > 0) return `no ${missing.join(', ')} for its legend`;
  return samples.some(({ value }) => Number.isFinite(value)) ? undefined : 'no numbers';
}

/** The same, of a query of recording rules, too, which Prometheus may evaluate some seconds after their data came. */
async function lastingProblemOf(expr: string, legend: string): Promise<string | undefined> {
  let problem = await problemOf(expr, legend);
  for (let tries = 0; problem !== undefined && tries < TRIES; tries++) {
    await pause(RETRY_MS);
    problem = await problemOf(expr, legend);
  }
  return problem;
}

describe('a query', () => {
  it('of each variable has values to choose from', async () => {
    const problems: string[] = [];
    for (const { title, variables } of Object.values(DASHBOARDS))
      for (const { name, query } of variables) {
        const [, series = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? [];
        const problem = await problemOf(`group by (${label}) (${series})`, `{{${label}}}`);
        if (problem !== undefined) problems.push(`${title}: ${name}: ${problem}: ${query}`);
      }
    expect(problems).toEqual([]);
  });

  it('of each panel has data and the labels of its legend', async () => {
    const problems: string[] = [];
    for (const { name, expr, legend } of panelQueries()) {
      const problem = await lastingProblemOf(expr, legend);
      if (problem !== undefined) problems.push(`${name}: ${problem}: ${expr}`);
    }
    expect(problems).toEqual([]);
  });

  it('of each recording rule has data, and each rule can be run', async () => {
    const rules = await until(async () => {
      const found = await prometheus.rules();
      return found.every(({ health }) => health !== 'unknown') && found;
    });
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
    expect(rules).toHaveLength(RECORDED.length + ALERTS.length);
    const problems: string[] = [];
    for (const record of RECORDED) {
      const problem = await problemOf(record);
      if (problem !== undefined) problems.push(`${record}: ${problem}`);
    }
    expect(problems).toEqual([]);
  });

  it('of each alert reads series that are there', async () => {
    const problems: string[] = [];
    for (const { name, expr } of ALERTS)
      for (const { text } of selectorsOf(expr)) {
        // What postgres alone has, and what has not failed yet.
        const problem = await problemOf(text.replace('driver="postgres"', 'driver=~".*"'));
        if (problem !== undefined) problems.push(`${name}: ${problem}: ${text}`);
      }
    expect(problems).toEqual([]);
  });
});

describe('an alert', () => {
  it('becomes active for what it is for, and is silent about a gateway that is well', async () => {
    const names = async (instance?: string): Promise<string[]> => {
      const active = await prometheus.alerts();
      const found = active.filter(({ labels }) => instance === undefined || labels['instance'] === instance);
      return [...new Set(found.map(({ labels }) => labels['alertname'] ?? ''))].toSorted();
    };
    const well = `127.0.0.1:${scene.well.managementPort}`;
    expect(await names(well)).toEqual([]);
    await scene.breakEverything();
    await until(async () => {
      await scene.round();
      const found = await names();
      return EXPECTED.every((name) => found.includes(name));
    }, ALERT_WAIT_MS).catch(() => undefined);
    expect(await names()).toEqual(expect.arrayContaining(EXPECTED));
    expect(await names(well)).toEqual(['HeadgateDown']);
    // Its texts have all their values.
    const texts = (await prometheus.alerts()).flatMap(({ annotations }) => Object.values(annotations));
    expect(texts.filter((text) => /\{\{|<no value>|<error/.test(text))).toEqual([]);
  });

  it('links to its section with the command of the page of alerts', () => {
    const page = readFileSync(join(import.meta.dirname, '../../', ALERTS_PAGE), 'utf8');
    const [, script = ''] = /^sed -i '([^']+)'/m.exec(page) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'headgate-runbooks-'));
    const file = join(folder, 'alerts.yaml');
    try {
      copyFileSync(join(RULES, 'alerts.yaml'), file);
      expect(spawnSync('sed', ['-i', script, file]).status).toBe(0);
      const promtool = installedProgram('promtool', 'prometheus');
      expect(spawnSync(promtool, ['check', 'rules', file]).status).toBe(0);
      const links = [...readFileSync(file, 'utf8').matchAll(/runbook_url: (\S+)/g)].map(([, link]) => link);
      expect(links).toEqual(
        ALERTS.map(({ name }) => `https://docs.example.com/how-to/alerts/#${name.toLowerCase()}`),
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('passes its trials, and promtool has nothing to say about the rules', () => {
    const promtool = installedProgram('promtool', 'prometheus');
    const files = (pattern: string): string[] => globSync(join(RULES, pattern)).toSorted();
    const check = spawnSync(promtool, ['check', 'rules', ...files('*.yaml')], { encoding: 'utf8' });
    expect([check.status, check.stderr]).toEqual([0, '']);
    const test = spawnSync(promtool, ['test', 'rules', ...files('tests/*.yaml')], { encoding: 'utf8' });
    expect([test.status, test.stdout.replaceAll(/^Unit Testing:.*|^ {2}SUCCESS/gm, '').trim()]).toEqual([
      0,
      '',
    ]);
  });
});
