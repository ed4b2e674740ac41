/**
 * console/src/api/schema.ts: the records and operations of the management API as TypeScript types, from the OpenAPI
 * document, so that the console cannot send or read what the API does not have. Pure.
 */
import { PARTS } from '../../src/policy/registry.ts';
import { openApiDocument, type JsonObject } from '../../src/management/api/openapi.ts';
import type { Operation } from '../../src/management/api/operation.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Content>>;
}

const HEAD = `/**
 * The management API as types. Generated from its OpenAPI document by \`npm run docs\`; not to be edited.
 */
`;

const BASE = '/api/v1';

const partErrorCodes = (): string[] => PARTS.flatMap(({ errors = [] }) => errors.map(({ code }) => code));

export function consoleTypes(operations: readonly Operation[]): string {
  const document: JsonObject = openApiDocument(operations, '0.0.0');
  const { schemas } = document['components'] as { readonly schemas: Readonly<Record<string, Schema>> };
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  const records = Object.entries(schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)};\n`,
  );
  const calls = Object.entries(paths)
    .filter(([path]) => path.startsWith(BASE))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]) =>
          `  '${method.toUpperCase()} ${path.slice(BASE.length)}': ${callType(operation)};`,
      ),
    );
  return [
    HEAD,
    '/** Codes that parts of a policy add, in the order of the parts. */',
    `export const PART_ERROR_CODES = ${JSON.stringify(partErrorCodes())} as const;\n`,
    ...records,
    '/** Of a call without parameters. */',
    'export type NoFields = Readonly<Record<never, never>>;\n',
    '/** By method and path below /api/v1; `result` is the body of the success, `undefined` where there is none. */',
    'export interface Operations {',
    ...calls,
    '}\n',
  ].join('\n');
}

function callType({ parameters = [], requestBody, responses }: DescribedOperation): string {
  const of = (place: string): string => {
    const fields = parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, required, schema }) => field(name, schema, place === 'path' || required === true));
    return fields.length === 0 ? 'NoFields' : `{ ${fields.join('; ')} }`;
  };
  const body = requestBody === undefined ? 'undefined' : typeOf(schemaIn(requestBody));
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const result = success?.content === undefined ? 'undefined' : typeOf(schemaIn(success));
  return `{ path: ${of('path')}; query: ${of('query')}; body: ${body}; result: ${result} }`;
}

function schemaIn({ content = {} }: Content): Schema {
  return content['application/json']?.schema ?? Object.values(content)[0]?.schema ?? {};
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return [...new Set(either.map(typeOf))].join(' | ');
  if (schema.allOf !== undefined) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ');
  if (Array.isArray(schema.type)) {
    return (schema.type as string[]).map((type) => typeOf({ ...schema, type })).join(' | ');
  }
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'array':
      return `readonly (${typeOf(schema.items ?? {})})[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (properties === undefined) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
    return `Readonly<Record<string, ${value}>>`;
  }
  const fields = Object.entries(properties).map(([name, schema]) =>
    field(name, schema, required.includes(name)),
  );
  return `{ ${fields.join('; ')} }`;
}

function field(name: string, schema: Schema, isRequired: boolean): string {
  const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
  return `readonly ${key}${isRequired ? '' : '?'}: ${typeOf(schema)}${isRequired ? '' : ' | undefined'}`;
}
