import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const CHART = join(import.meta.dirname, '../../deploy/helm/headgate');
const FOLDER = join(CHART, 'templates');
const schema: unknown = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));

/** What stands alone as a value in YAML: `key: {{ … }}`. */
const ALONE = /^\s*(?:- )?[\w./-]+: \{\{-? (?<expression>(?!toYaml|with|if|range)[^{}]*?) -?\}\}$/;
/** Numbers and words of the chart itself, and names of settings, which the schema has. */
const OWN = /^(?:include "headgate\.(?:gracePeriod|managementScheme)"|\$name$)/;

interface Node {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly pattern?: unknown;
  readonly properties?: Readonly<Record<string, Node>>;
}

/** Whether a value of the chart can be any text. */
function isText(expression: string): boolean {
  const [, path] = /^\$?\.Values\.([\w.]+)/.exec(expression) ?? [];
  if (path === undefined) return true;
  let node: Node | undefined = schema as Node;
  for (const name of path.split('.')) node = node?.properties?.[name];
  const types = [node?.type].flat();
  return node?.enum === undefined && !types.includes('integer') && !types.includes('boolean');
}

/** The pattern of a setting as text, such as `--set-string` gives it. */
function patternOf(setting: string): RegExp {
  const { pattern } = (schema as Node).properties?.['settings']?.properties?.[setting] ?? {};
  return new RegExp(String(pattern));
}

it('a number or boolean may be a text, but no other text: "5s" would become 0 in a sum, and end the start of the pods', () => {
  const [number, boolean] = [patternOf('GATEWAY_PROXY__DRAIN_GRACE_MS'), patternOf('GATEWAY_PROXY__HTTP2')];
  expect(['5000', '5s', 'lots', '-1', '1.5'].filter((text) => number.test(text))).toEqual(['5000']);
  expect(['true', 'False', '0', 'yes', 'on'].filter((text) => boolean.test(text))).toEqual([
    'true',
    'False',
    '0',
  ]);
});

it('a text of the user stays one in YAML: it stands in quotes, so that 0123, on or a release called 7 is no number', () => {
  const unquoted: string[] = [];
  let quoted = 0;
  for (const file of readdirSync(FOLDER).filter((name) => /\.(?:yaml|tpl)$/.test(name))) {
    const lines = readFileSync(join(FOLDER, file), 'utf8').split('\n');
    for (const [index, line] of lines.entries()) {
      const { expression } = ALONE.exec(line)?.groups ?? {};
      if (expression === undefined || OWN.test(expression)) continue;
      if (expression.endsWith('| quote')) quoted += 1;
      else if (isText(expression)) unquoted.push(`${file}:${index + 1}: ${line.trim()}`);
    }
  }
  expect(quoted).toBeGreaterThan(20);
  expect(unquoted).toEqual([]);
});
