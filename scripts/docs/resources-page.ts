/**
 * docs/reference/resources.md: every resource with every field, from the schemas that validate and document the API.
 * Pure.
 */
import { answerExample } from '../../src/management/api/examples.ts';
import type { Operation } from '../../src/management/api/operation.ts';
import type { JsonSchema } from '../../src/model/json-schema.ts';
import { answeredSchema } from './api-operations.ts';
import { code, jsonBlock, page, table } from './markdown.ts';
import { fieldsOf, type Field } from './schema-fields.ts';

interface Resource {
  readonly title: string;
  /** As in the operation ids: `createApp`, `getApp`. */
  readonly name: string;
  readonly intro: string;
}

const RESOURCES: readonly Resource[] = [
  {
    title: 'App',
    name: 'App',
    intro: 'A service behind the gateway. It owns a path prefix, its versions and its API keys.',
  },
  {
    title: 'Version',
    name: 'Version',
    intro:
      'A public version of an app, with a gateway path and a status: `active`, `deprecated` or `retired`.',
  },
  {
    title: 'Revision',
    name: 'Revision',
    intro:
      'A deployment of a version: the backend of its traffic. Several revisions may be current and share the traffic by weight.',
  },
  {
    title: 'Endpoint',
    name: 'Endpoint',
    intro:
      'A registered method and path of a revision. In `managed_endpoint` mode only registered endpoints are reachable; otherwise they refine the policy or the backend path.',
  },
  {
    title: 'API key',
    name: 'Token',
    intro: 'A key of one client of an app. It gives access to this app only.',
  },
  {
    title: 'Admin token',
    name: 'AdminToken',
    intro: 'A token for the management API. It cannot be changed, only created and deleted.',
  },
];

/** Titles of the schemas that the page describes. */
export const RESOURCE_NAMES: readonly string[] = RESOURCES.map(({ name }) => name);

export function resourcesPage(operations: readonly Operation[]): string {
  return page(
    'Resources',
    `The records of the management API, below \`/api/v1\`. Wherever a path contains an id, the natural name works, too: the
slug of an app, the label of a version or a revision. All records are JSON objects. [Objects](objects.md) has the
bodies and answers of all other calls, [management API](management-api.md) the list of calls.

In the tables, "required" means that a creation (\`POST\`) and a replacement (\`PUT\`) must have the field. A read-only
field is set by the gateway; a body that has it is refused with 422, unless it has the value that the record has. A
write-only field is never shown again. A change (\`PATCH\`) is a JSON Merge Patch (RFC 7396), in which every field is
optional and \`null\` restores the default of a field.`,
    ...RESOURCES.map((resource) => section(resource, operations)),
  );
}

/** All fields of a resource, with what writes may do to each. */
export function resourceFields(name: string, operations: readonly Operation[]): Field[] {
  const input = byId(operations, `create${name}`)?.body?.schema;
  const get = byId(operations, `get${name}`);
  const served = get && answeredSchema(get);
  if (input === undefined || served === undefined)
    throw new Error(`Cannot describe ${name}: create${name} and get${name} must exist and have schemas`);
  const inputFields = new Map(fieldsOf(input).map((field) => [field.path, field]));
  const servedFields = fieldsOf(served).map((field): Field => {
    const written = inputFields.get(field.path);
    inputFields.delete(field.path);
    return written ?? { ...field, access: 'read-only' };
  });
  return [...servedFields, ...[...inputFields.values()].map((field) => atCreation(field, name, operations))];
}

function section(resource: Resource, operations: readonly Operation[]): string {
  const { title, name, intro } = resource;
  const example = answerExample(`get${name}`, 200);
  const rows = resourceFields(name, operations).map((field) => [
    code(field.path),
    field.type,
    field.access === 'read-write' ? (isRequired(field) ? 'required' : 'optional') : field.access,
    field.default,
    field.description,
  ]);
  return [
    `## ${title}`,
    intro,
    table(['Field', 'Type', 'Written', 'Default', 'Meaning'], rows),
    ...(example === undefined ? [] : ['Example:', jsonBlock(example.data)]),
  ].join('\n\n');
}

/** A field inside of an optional object is required with that object only; its description or type says so. */
const isRequired = ({ path, isRequired: required }: Field): boolean => required && !/[.[]/.test(path);

/** A field that only a creation takes. */
function atCreation(field: Field, name: string, operations: readonly Operation[]): Field {
  const replaced: JsonSchema | undefined = byId(operations, `replace${name}`)?.body?.schema;
  if (replaced?.properties?.[field.path] !== undefined) return field;
  return { ...field, description: `Only for a creation. ${field.description}`, access: 'write-only' };
}

function byId(operations: readonly Operation[], id: string): Operation | undefined {
  return operations.find(({ operationId }) => operationId === id);
}
