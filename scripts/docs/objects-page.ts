/**
 * docs/reference/objects.md: bodies and answers of the management API that are no resources, from their schemas. Pure.
 */
import type { Operation } from '../../src/management/api/operation.ts';
import { DryRunSchema } from '../../src/management/schemas/dry-run.ts';
import { ProblemSchema } from '../../src/management/schemas/envelope.ts';
import { jsonSchema, type JsonSchema } from '../../src/model/json-schema.ts';
import { answeredSchema } from './api-operations.ts';
import { code, page, table } from './markdown.ts';
import { fieldsOf, typeOf } from './schema-fields.ts';
import { RESOURCE_NAMES } from './resources-page.ts';

interface DescribedObject {
  readonly schema: JsonSchema;
  /** `POST /api/v1/explain`. */
  readonly takenBy: Set<string>;
  readonly answeredBy: Set<string>;
}

export function objectsPage(operations: readonly Operation[]): string {
  const sections = [...describedObjects(operations)].map(([title, object]) => objectSection(title, object));
  return page(
    'Objects of the management API',
    `Bodies and answers of the [management API](management-api.md), except for the [resources](resources.md). Every
success is \`{"status", "message", "data"}\`, with \`warnings\` ([warnings](warnings.md)) if there are any; \`data\` is
the object below. A list also has \`page\` with \`limit\`, \`next_cursor\` (pass it as \`cursor\` to get the next page; null on
the last page) and \`total\`. Every error is a \`Problem\` ([errors](errors.md)).`,
    ...sections,
    objectSection('DryRun', {
      schema: jsonSchema(DryRunSchema),
      takenBy: new Set(),
      answeredBy: new Set(['every write with `?dry_run=true`']),
    }),
    objectSection('Problem', {
      schema: jsonSchema(ProblemSchema),
      takenBy: new Set(),
      answeredBy: new Set(['every error']),
    }),
  );
}

/** By title, in the order of the operations; a patch takes what a creation takes. */
export function describedObjects(operations: readonly Operation[]): ReadonlyMap<string, DescribedObject> {
  const objects = new Map<string, DescribedObject>();
  const note = (schema: JsonSchema | undefined, list: 'takenBy' | 'answeredBy', call: string): void => {
    const title = schema?.title;
    if (schema === undefined || title === undefined || isOfResource(title)) return;
    let object = objects.get(title);
    if (object === undefined)
      objects.set(title, (object = { schema, takenBy: new Set(), answeredBy: new Set() }));
    object[list].add(call);
  };
  for (const operation of operations) {
    const call = code(`${operation.method} ${operation.path}`);
    note(operation.body?.schema, 'takenBy', call);
    note(answeredSchema(operation), 'answeredBy', call);
  }
  return objects;
}

function isOfResource(title: string): boolean {
  return RESOURCE_NAMES.some((name) =>
    [name, `Created${name}`, `${name}Input`, `${name}Creation`, `${name}Patch`].includes(title),
  );
}

function objectSection(title: string, { schema, takenBy, answeredBy }: DescribedObject): string {
  const isTaken = takenBy.size > 0;
  const rows = fieldsOf(schema).map((field) => [
    code(field.path),
    field.type,
    ...(isTaken ? [field.default || (field.isRequired ? 'required' : '')] : []),
    field.description,
  ]);
  const head = ['Field', 'Type', ...(isTaken ? ['Default'] : []), 'Meaning'];
  return [
    `## ${title}`,
    ...(schema.description === undefined ? [] : [schema.description]),
    [taken('Taken by', takenBy), taken('Answered by', answeredBy)].filter(Boolean).join(' '),
    rows.length === 0 ? `Type: ${typeOf(schema)}.` : table(head, rows),
  ].join('\n\n');
}

function taken(word: string, calls: ReadonlySet<string>): string {
  return calls.size === 0 ? '' : `${word} ${[...calls].join(', ')}.`;
}
