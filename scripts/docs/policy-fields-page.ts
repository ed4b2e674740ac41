/** docs/reference/policy-fields.md: every field of a policy, from its schema. Pure. */
import { PolicySchema, SHADOW_PART_NAMES } from '../../src/policy/registry.ts';
import { jsonSchema, type JsonSchema } from '../../src/model/json-schema.ts';
import { code, page, table } from './markdown.ts';
import { fieldsOf, typeOf } from './schema-fields.ts';

export function policyFieldsPage(): string {
  const parts = Object.entries(jsonSchema(PolicySchema).properties ?? {});
  return page(
    'Policy fields',
    `Every field that a policy may have. What each part does is in [policies](policies.md).`,
    ...parts.map(([name, schema]) => partSection(name, schema)),
  );
}

function partSection(name: string, schema: JsonSchema): string {
  const part = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
  const fields = fieldsOf({ properties: { [name]: part } });
  const rows = fields
    .slice(1)
    .map((field) => [
      code(field.path),
      field.type,
      field.isRequired ? 'required' : field.default,
      field.description,
    ]);
  const isInShadow = (SHADOW_PART_NAMES as readonly string[]).includes(name);
  return [
    `## ${name}`,
    [part.description, `Type: ${typeOf(part)}.`, fields[0]?.default && `Default: ${fields[0].default}.`]
      .filter(Boolean)
      .join(' '),
    isInShadow ? 'May run in [shadow mode](policies.md#shadow).' : '',
    rows.length === 0 ? '' : table(['Field', 'Type', 'Default', 'Meaning'], rows),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}
