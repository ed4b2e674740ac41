/**
 * The schemas of objects of Kubernetes as kubeconform reads them, from the OpenAPI description in Kubernetes' own
 * sources and the definitions of the Prometheus operator. Fields that are not described are refused, as the server of
 * the API does with `--validate=strict`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { goModule } from '../support/programs/go-tools.ts';

export const KUBERNETES = 'k8s.io/kubernetes@v1.34.1';
export const OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
export const OF_OPERATOR = ['servicemonitors', 'prometheusrules'];

const REFERENCE = '#/definitions/';

type Schema = Record<string, unknown>;

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Writes them; returns what kubeconform's `-schema-location` gets. */
export function writeSchemas(folder: string): string {
  const path = join(goModule(KUBERNETES), 'api/openapi-spec/swagger.json');
  const { definitions } = JSON.parse(readFileSync(path, 'utf8')) as { definitions: Record<string, Schema> };
  const all = Object.fromEntries(
    Object.entries(definitions).map(([name, schema]) => [name, special(name) ?? strict(schema)]),
  );
  for (const [name, schema] of Object.entries(definitions))
    for (const kind of (schema['x-kubernetes-group-version-kind'] ?? []) as Kind[])
      write(folder, kind, complete({ $ref: REFERENCE + name }, all));
  const operator = goModule(OPERATOR);
  for (const plural of OF_OPERATOR) {
    const file = join(operator, `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`);
    const { spec } = parse(readFileSync(file, 'utf8')) as {
      spec: {
        group: string;
        names: { kind: string };
        versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
      };
    };
    for (const { name, schema } of spec.versions)
      write(
        folder,
        { group: spec.group, version: name, kind: spec.names.kind },
        complete(ofCrd(schema.openAPIV3Schema), all),
      );
  }
  return join(folder, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
}

/** With all definitions that it refers to, directly or not. */
function complete(schema: Schema, all: Readonly<Record<string, Schema>>): Schema {
  const definitions: Record<string, Schema> = {};
  const add = (part: Schema): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/definitions\/([^"]+)"/g)) {
      const found = all[name];
      if (name in definitions || found === undefined) continue;
      definitions[name] = found;
      add(found);
    }
  };
  add(schema);
  return { ...schema, definitions };
}

/** A name as kubeconform asks for it: of the group, its first word. */
function write(folder: string, { group, version, kind }: Kind, schema: Schema): void {
  const parts = [kind.toLowerCase(), ...(group === '' ? [] : [group.split('.')[0] ?? '']), version];
  writeFileSync(join(folder, `${parts.join('-')}.json`), JSON.stringify(schema));
}

/** Types that OpenAPI 2 cannot say. */
function special(name: string): Schema | undefined {
  if (name.endsWith('.IntOrString')) return { type: ['integer', 'string'] };
  if (name.endsWith('.Quantity')) return { type: ['number', 'string'] };
  return undefined;
}

/** Whatever has fields has no others. */
function strict(schema: unknown): Schema {
  if (schema === null || typeof schema !== 'object') return schema as Schema;
  if (Array.isArray(schema)) return schema.map(strict) as unknown as Schema;
  const copy = Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => !name.startsWith('x-kubernetes-') && name !== 'format')
      .map(([name, value]) => [name, strict(value)]),
  );
  return 'properties' in copy && !('additionalProperties' in copy)
    ? { ...copy, additionalProperties: false }
    : copy;
}

/** Its metadata is any object's. */
function ofCrd(schema: Schema): Schema {
  const intOrString = JSON.stringify(schema).replaceAll(
    '"x-kubernetes-int-or-string":true',
    '"type":["integer","string"]',
  );
  const found = strict(JSON.parse(intOrString)) as { properties: Record<string, Schema> };
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
  found.properties['metadata'] = { $ref: REFERENCE + meta };
  return found;
}
