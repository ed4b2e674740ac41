/**
 * The dashboards against the types that Grafana publishes for its JSON model, which are generated from its own schema:
 * every field is known there, and none that a panel needs is missing. Takes them from the package registry.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DASHBOARDS } from '../../scripts/observability/files.ts';
import { dashboardJson } from '../../scripts/observability/dashboard.ts';

const VERSIONS = ['12.4.11', '13.2.3'];
const TSC = resolve(import.meta.dirname, '../../node_modules/typescript/bin/tsc');

/** `Plain`: what JSON has in place of a member of an enumeration. */
const TYPES = `
import type { Dashboard, DataSourceRef, GraphFieldConfig, Panel, RowPanel } from '@grafana/schema';
import type { Options as Graph } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';
import type { Options as Stat } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as BarGauge } from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
type Plain<T> = T extends string ? \`\${T}\`
  : T extends number ? T | (\`\${T}\` extends \`\${infer N extends number}\` ? N : never)
  : T extends readonly (infer E)[] ? readonly Plain<E>[]
  : T extends object ? { readonly [K in keyof T]: Plain<T[K]> } : T;
type Fields = NonNullable<Panel['fieldConfig']>;
interface Target {
  refId: string; datasource: Plain<DataSourceRef>; editorMode: 'code'; expr: string; legendFormat: string;
  range: boolean; instant?: boolean;
}
type Of<Type, Options, Custom> = Omit<Plain<Panel>, 'type' | 'options' | 'targets' | 'fieldConfig'> & {
  type: Type; options: Plain<Options>; targets: readonly Target[];
  fieldConfig: Omit<Plain<Fields>, 'defaults'> & {
    defaults: Omit<Plain<Fields['defaults']>, 'custom'> & { custom?: Plain<Custom> };
  };
};
export type AnyPanel = Plain<RowPanel> | Of<'timeseries', Graph, GraphFieldConfig>
  | Of<'stat', Stat, never> | Of<'bargauge', BarGauge, never>;
export type Frame = Plain<Omit<Dashboard, 'panels'>>;
`;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-grafana-'));
  const packages = VERSIONS.map((version, index) => `grafana${index}@npm:@grafana/schema@${version}`);
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--no-save', ...packages], {
    cwd: folder,
    stdio: 'pipe',
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the compiler says of these dashboards. */
function complaints(library: string, texts: readonly string[]): string {
  const constants = texts.flatMap((text, index) => {
    const { panels, ...frame } = JSON.parse(text) as { panels: object[] };
    return [
      `export const frame${index} = ${JSON.stringify(frame)} satisfies Frame;`,
      ...panels.map(
        (panel, place) =>
          `export const panel${index}x${place} = ${JSON.stringify(panel)} satisfies AnyPanel;`,
      ),
    ];
  });
  const source = TYPES.replaceAll('@grafana/schema', library) + constants.join('\n');
  writeFileSync(join(folder, 'check.ts'), source);
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig'];
  const modules = ['--module', 'esnext', '--moduleResolution', 'bundler'];
  const command = [TSC, ...options, ...modules, 'check.ts'];
  return spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' }).stdout;
}

const dashboards = Object.values(DASHBOARDS).map(dashboardJson);

it.each(VERSIONS.map((version, index) => [version, `grafana${index}`] as const))(
  'Grafana %s knows every field of the dashboards',
  (_version, library) => {
    expect(complaints(library, dashboards)).toBe('');
  },
);

it('is told of a field that there is not, and of one that is missing', () => {
  const [text = ''] = dashboards;
  const unknown = text.replace('"graphTooltip"', '"graphTooltips"');
  expect(complaints('grafana1', [unknown])).toMatch(/"?graphTooltips"?' does not exist/);
  const missing = text.replace('"textMode": "auto",', '');
  expect(complaints('grafana1', [missing])).toMatch(/'textMode' is missing/);
});
