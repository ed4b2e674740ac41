/**
 * values.schema.json of the Helm chart: the structure and the comments of its values.yaml, and every setting with its
 * range. A name that is not there is refused, so that a slip of the pen does not pass for a value. Pure.
 */
import { isMap, isPair, isScalar, isSeq, parseDocument, type Node } from 'yaml';
import { SETTINGS } from '../../src/settings/settings-table.ts';
import type { Setting } from '../../src/settings/settings-values.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Settings that the chart gives itself, by other values or by what it mounts. */
const OF_THE_CHART = [
  'GATEWAY_SERVER__HOST',
  'GATEWAY_SERVER__PORT',
  'GATEWAY_PROXY__HOST',
  'GATEWAY_PROXY__PORT',
  'GATEWAY_PROXY__TLS__PORT',
  'GATEWAY_CONFIG_FILE',
  'GATEWAY_CONSOLE__FOLDER',
  'GATEWAY_CLUSTER__NODE_NAME',
  'GATEWAY_SNAPSHOT_FILE',
];
/** They hold a password as a rule. */
const WITH_PASSWORDS = ['GATEWAY_DATABASE_URL', 'GATEWAY_REDIS_URL', 'GATEWAY_OTEL__HEADERS'];

/** What the values do not show: by their paths. */
const SPECIAL: Readonly<Record<string, Schema>> = {
  replicaCount: { type: 'integer', minimum: 0 },
  'image.digest': { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
  'image.pullPolicy': { enum: ['Always', 'IfNotPresent', 'Never'] },
  'configuration.from': { enum: ['database', 'files'] },
  'configuration.files': { type: 'object', additionalProperties: { type: 'string' } },
  existingSecret: { type: 'string', minLength: 1 },
  terminationGracePeriodSeconds: { type: ['integer', 'null'], minimum: 0 },
  'service.type': { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  'service.externalTrafficPolicy': { enum: ['', 'Cluster', 'Local'] },
  'podDisruptionBudget.maxUnavailable': { type: ['integer', 'string'] },
  updateStrategy: { type: 'object' },
  resources: { type: 'object' },
  'metrics.prometheusRule.alertsPageUrl': { type: 'string', pattern: '^(https?://[^\\s#"\'`]+)?$' },
  'metrics.dashboards.labels': { type: 'object' },
};

export function valuesSchema(valuesYaml: string): string {
  const { contents } = parseDocument(valuesYaml);
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart headgate',
    ...schemaOf(contents, ''),
    definitions: { secretKey: { type: ['string', 'null'] } },
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function schemaOf(node: unknown, path: string): Schema {
  if (path === 'settings') return { type: 'object', additionalProperties: false, properties: settings() };
  if (path === 'secretKeys') return secretKeys();
  const special = SPECIAL[path];
  if (special !== undefined) return special;
  if (isMap(node)) {
    // An empty map is for names of the user.
    if (node.items.length === 0) return { type: 'object' };
    const properties = Object.fromEntries(
      node.items.filter(isPair).map(({ key, value }) => {
        const name = String(isScalar(key) ? key.value : key);
        const child = schemaOf(value, path === '' ? name : `${path}.${name}`);
        return [name, { ...described(key as Node), ...child }];
      }),
    );
    // What a chart gets that this one is a part of.
    const open = path === '' ? { global: { type: 'object' } } : {};
    return { type: 'object', additionalProperties: false, properties: { ...properties, ...open } };
  }
  if (isSeq(node)) return { type: 'array' };
  const value = isScalar(node) ? node.value : undefined;
  return { type: typeof value === 'number' ? 'integer' : typeof value };
}

/** The comment above it. */
function described({ commentBefore }: Node): Schema {
  if (typeof commentBefore !== 'string') return {};
  const paragraph = commentBefore.split('\n\n').at(-1) ?? '';
  return { description: paragraph.replaceAll(/^ /gm, '').replaceAll('\n', ' ') };
}

const isSecret = ([name, { secret }]: [string, Setting<unknown>]): boolean =>
  secret || WITH_PASSWORDS.includes(name);

function settings(): Schema {
  const own = (Object.entries(SETTINGS) as [string, Setting<unknown>][]).filter(
    (entry) => !isSecret(entry) && !OF_THE_CHART.includes(entry[0]),
  );
  return Object.fromEntries(
    own.map(([name, setting]) => [name, { description: setting.description, ...kindOf(setting) }]),
  );
}

function secretKeys(): Schema {
  const names = Object.keys(SETTINGS).filter((name) => !OF_THE_CHART.includes(name));
  // Not `propertyNames`: helm answers a wrong name with the list of all.
  const key = { $ref: '#/definitions/secretKey' };
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(names.map((name) => [name, key])),
  };
}

/** null leaves a setting of the chart out. A number or boolean may be a text, as `--set-string` gives it. */
function kindOf(setting: Setting<unknown>): Schema {
  const { type } = setting;
  const [, min, max] = /^integer, (\d+) to (\d+)$/.exec(type) ?? [];
  if (min !== undefined)
    return {
      type: ['integer', 'string', 'null'],
      minimum: Number(min),
      maximum: Number(max),
      pattern: '^[0-9]*$',
    };
  if (type === 'boolean')
    return { type: ['boolean', 'string', 'null'], pattern: '^([Tt]rue|TRUE|[Ff]alse|FALSE|1|0)?$' };
  const words = type.split(/, | or /);
  const isChoice = type.includes(' or ') && words.every((word) => /^[a-z0-9-]+$/.test(word));
  if (isChoice && words.every((word) => !('expected' in setting.parse(word))))
    return { enum: [...words, null] };
  return { type: ['string', 'number', 'null'] };
}
