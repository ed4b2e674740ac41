/** docs/reference/policy-fields.md: every field of a policy, from its schema. Pure. */
import type { PolicyPart } from '../../src/policy/part.ts';
import { PARTS } from '../../src/policy/registry.ts';
import { jsonSchema } from '../../src/model/json-schema.ts';
import { code, jsonOnOneLine, page, table } from './markdown.ts';
import { fieldsOf, typeOf } from './schema-fields.ts';

export function policyFieldsPage(): string {
  return page(
    'Policy fields',
    `Every field that a policy may have. What each part does is in [policies](policies.md).`,
    ...PARTS.map(partSection),
  );
}

function partSection({ name, schema, docs, off, mayShadow }: PolicyPart): string {
  const part = jsonSchema(schema);
  const fields = fieldsOf({ properties: { [name]: part } });
  const rows = fields
    .slice(1)
    .map((field) => [
      code(field.path),
      field.type,
      field.isRequired ? 'required' : field.default,
      field.description,
    ]);
  return [
    `## ${name}`,
    [part.description, `Type: ${typeOf(part)}.`, fields[0]?.default && `Default: ${fields[0].default}.`]
      .filter(Boolean)
      .join(' '),
    `Example: ${code(jsonOnOneLine({ [name]: docs.example }))}.`,
    off === undefined
      ? ''
      : `Off, where a wider level has it: ${code(jsonOnOneLine({ [name]: off.example }))}.`,
    mayShadow ? 'May run in [shadow mode](policies.md#shadow).' : '',
    rows.length === 0 ? '' : table(['Field', 'Type', 'Default', 'Meaning'], rows),
  ]
    .filter((block) => block !== '')
    .join('\n\n');
}
