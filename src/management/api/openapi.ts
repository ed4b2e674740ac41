/**
 * The OpenAPI 3.1 document, created from the list of operations that the server serves. Schemas with a title become
 * components, so that generated clients get readable names; unions of constants become enums. Pure.
 */
import { errorRow } from '../../policy/error-table.ts';
import type { ErrorCode } from '../../model/errors.ts';
import { DryRunSchema } from '../schemas/dry-run.ts';
import { envelopeSchema, ProblemSchema } from '../schemas/envelope.ts';
import { jsonSchema, type JsonSchema } from '../../model/json-schema.ts';
import { answerExample, problemExample } from './examples.ts';
import { JSON_TYPE, MERGE_PATCH_TYPE, type Operation } from './operation.ts';
import { STALE_HEADER } from '../crud/reading.ts';
import { NODES_APPLIED_HEADER } from '../write/write.ts';
import { MESSAGE_CHARS_MAX, MESSAGE_HEADER, SOURCE_HEADER, WRITE_SOURCES } from '../write/write-note.ts';

export type JsonObject = Record<string, unknown>;

const PROBLEM_TYPE = 'application/problem+json';
const DRY_RUN_ENVELOPE = jsonSchema(envelopeSchema('DryRunEnvelope', DryRunSchema));
/**
 * Kept out of the 2xx responses: the answer of a dry run would become part of the type of every write, and
 * generated clients would need a cast to read a created record.
 */
const DRY_RUN_EXTENSION = 'x-headgate-dry-run';
const DRY_RUN_NOTE =
  'With `dry_run=true`, nothing is changed, and the answer is 200 with a `DryRunEnvelope` that says what would change.';
const TAGS: readonly (readonly [string, string])[] = [
  ['Apps', 'Services behind the gateway'],
  ['Versions', 'Public versions of an app, each with its gateway path'],
  ['Revisions', 'Deployments of a version: the backends of its traffic'],
  ['Endpoints', 'Registered methods and paths of a revision'],
  ['Tokens', 'API keys of the clients of an app'],
  [
    'Configuration',
    'The whole configuration as a declared tree: read, plan, apply; its history, and rollbacks',
  ],
  ['Explain', 'What the gateway does with a request, and why'],
  ['Sessions', 'Browsers that are signed in'],
  ['Traffic', 'Traffic over time, and current problems'],
  ['Admin', 'Admin tokens and the audit log'],
  ['Events', 'Events, and the webhooks that receive them'],
  ['Service', 'Health, probes, metrics'],
];
const PARAMETERS: Readonly<Record<string, string>> = {
  app_id: 'Id or slug of the app.',
  name: 'Name for which certificates are ordered.',
  version_id: 'Id or label of the version.',
  revision_id: 'Id or label of the revision.',
  endpoint_id: 'Id of the endpoint.',
  token_id: 'Id of the token.',
  request_id: '`X-Request-Id` of the response.',
  config_version: 'Number of the config version.',
  debug_token_id: 'Id of the debug token.',
  admin_token_id: 'Id of the admin token.',
  session_id: 'Id of the session.',
  webhook_id: 'Id of the webhook.',
  event_id: 'Id of the event.',
  live_id: 'Id of the exchange in the stream of live traffic.',
};

/** @param version version of Headgate */
export function openApiDocument(operations: readonly Operation[], version: string): JsonObject {
  const components = new Map<string, JsonObject>();
  const paths: Record<string, JsonObject> = {};
  for (const operation of operations) {
    const item = (paths[operation.path] ??= {});
    item[operation.method.toLowerCase()] = describe(operation, components);
  }
  toOpenApi(jsonSchema(ProblemSchema), components);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate management API',
      version,
      description: 'Configures the gateway. When a write is answered, every worker has applied it.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    security: [{ adminToken: [] }, { session: [] }],
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        adminToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'GATEWAY_ADMIN_TOKEN or a token created with POST /api/v1/admin/tokens.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'headgate_session',
          description:
            'The cookie that POST /api/v1/session sets; under TLS its name is `__Host-headgate_session`. Methods other than GET also need `X-CSRF-Token`, and the call must come from this origin. A bearer token takes precedence.',
        },
      },
    },
  };
}

/** The error codes of an operation, by status. */
function failureCodes(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = ['invalid_query', 'internal_error', ...operation.failures];
  if (operation.access !== 'public')
    codes.push('unauthenticated', 'cross_site_request', 'too_many_auth_failures', 'storage_unavailable');
  if (operation.access !== 'public' && operation.method !== 'GET') codes.push('csrf_token_invalid');
  if (operation.access === 'editor' || operation.access === 'admin') codes.push('forbidden');
  if (operation.path.includes('{')) codes.push('not_found');
  if (operation.entityTag && operation.method !== 'GET') codes.push('precondition_failed');
  if (operation.isWrite === true) codes.push('configuration_from_file', 'bad_request');
  if (operation.body !== undefined) {
    codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type', 'validation_failed');
  }
  return [...new Set(codes)].sort((a, b) => errorRow(a).status - errorRow(b).status || (a < b ? -1 : 1));
}

function describe(operation: Operation, components: Map<string, JsonObject>): JsonObject {
  const { body } = operation;
  const description = [operation.description, takesDryRun(operation) && DRY_RUN_NOTE]
    .filter(Boolean)
    .join('\n\n');
  return {
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description !== '' && { description }),
    ...dryRun(operation, components),
    ...(operation.access === 'public' && { security: [] }),
    parameters: parameters(operation, components),
    ...(body !== undefined && { requestBody: requestBody(body, components) }),
    responses: responses(operation, components),
  };
}

function takesDryRun({ query }: Operation): boolean {
  return query.properties?.['dry_run'] !== undefined;
}

function dryRun(operation: Operation, components: Map<string, JsonObject>): JsonObject {
  if (!takesDryRun(operation)) return {};
  const media = { schema: toOpenApi(DRY_RUN_ENVELOPE, components) };
  return { [DRY_RUN_EXTENSION]: { status: 200, content: { [JSON_TYPE]: media } } };
}

function parameters(operation: Operation, components: Map<string, JsonObject>): JsonObject[] {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: PARAMETERS[name] ?? '',
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(operation.query.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    description: schema.description ?? '',
    schema: {
      ...toOpenApi(schema, components),
      ...(schema.default !== undefined && { default: schema.default }),
    },
  }));
  const precondition = operation.method === 'GET' ? 'If-None-Match' : 'If-Match';
  const header = { name: precondition, in: 'header', required: false, schema: { type: 'string' } };
  return [
    ...inPath,
    ...inQuery,
    ...(operation.entityTag ? [header] : []),
    ...(operation.isWrite === true ? NOTE_HEADERS : []),
  ];
}

/** A note of the caller about a write, for the history. */
const NOTE_HEADERS: readonly JsonObject[] = [
  {
    name: SOURCE_HEADER,
    in: 'header',
    required: false,
    description: `Where the write comes from, and optionally a Git commit: \`cli; commit=5f2a9c1\`. Kept in the history of the configuration. Sources: ${WRITE_SOURCES.join(', ')}.`,
    schema: { type: 'string' },
  },
  {
    name: MESSAGE_HEADER,
    in: 'header',
    required: false,
    description: `Why the write was made, as percent-encoded UTF-8; at most ${MESSAGE_CHARS_MAX} characters. Kept in the history.`,
    schema: { type: 'string' },
  },
];

function requestBody(body: NonNullable<Operation['body']>, components: Map<string, JsonObject>): JsonObject {
  const media = {
    schema: toOpenApi(body.schema, components),
    ...(body.example !== undefined && { example: body.example }),
  };
  return {
    required: body.required,
    content: { [JSON_TYPE]: media, ...(body.mergePatch && { [MERGE_PATCH_TYPE]: media }) },
  };
}

function responses(operation: Operation, components: Map<string, JsonObject>): JsonObject {
  const { success, degraded, operationId } = operation;
  const example = success.example ?? answerExample(operationId, success.status);
  const content = success.schema && {
    [success.contentType ?? JSON_TYPE]: {
      schema: toOpenApi(success.schema, components),
      ...(example !== undefined && { example }),
    },
  };
  return {
    [success.status]: {
      description: success.description,
      ...successHeaders(operation),
      ...(content && { content }),
    },
    ...(operation.method === 'GET' &&
      operation.entityTag && { 304: { description: 'If-None-Match names the current ETag' } }),
    ...(degraded !== undefined && { 503: { description: degraded, ...(content && { content }) } }),
    default: problem(operation),
  };
}

function successHeaders(operation: Operation): JsonObject {
  const { isWrite } = operation;
  const { status } = operation.success;
  // A sign-in creates a session, which has no entity tag.
  const isCreation = status === 201 && operation.access !== 'public';
  const headers = {
    ...((operation.entityTag || isCreation) && status !== 204 && { ETag: textHeader('For If-Match.') }),
    ...(status === 201 && { Location: textHeader('Path of the new resource.') }),
    ...(operation.method === 'GET' &&
      operation.access !== 'public' && {
        [STALE_HEADER]: textHeader(
          '`true` when the database is unavailable and the answer comes from a copy.',
        ),
      }),
    ...(isWrite && {
      [NODES_APPLIED_HEADER]: textHeader(
        'How many of the live gateways have applied the write, for example `2/2`. Absent from a dry run.',
      ),
    }),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

const textHeader = (description: string) => ({ description, schema: { type: 'string' } });

/**
 * All errors of an operation as one response, because they are one document: its statuses and codes are in the
 * schema and in a list for people.
 */
function problem(operation: Operation): JsonObject {
  const codes = failureCodes(operation);
  const statuses = [...new Set(codes.map((code) => errorRow(code).status))];
  const lines = codes.map((code) => `- ${errorRow(code).status} \`${code}\`: ${errorRow(code).title}`);
  return {
    description: `An error, as a problem document (RFC 9457):\n\n${lines.join('\n')}`,
    content: {
      [PROBLEM_TYPE]: {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Problem' },
            { type: 'object', properties: { status: { enum: statuses }, code: { enum: codes } } },
          ],
        },
        example: problemExample(operation.path),
      },
    },
  };
}

/** A schema in the form of OpenAPI; one with a title becomes a component and is referenced. */
function toOpenApi(schema: JsonSchema, components: Map<string, JsonObject>): JsonObject {
  const { title } = schema;
  if (title === undefined) return convert(schema, components);
  if (!components.has(title)) {
    components.set(title, {});
    components.set(title, convert(schema, components));
  }
  return { $ref: `#/components/schemas/${title}` };
}

function convert(schema: JsonSchema, components: Map<string, JsonObject>): JsonObject {
  const { anyOf, properties, patternProperties, items, default: absent, ...rest } = schema;
  const inner = (part: JsonSchema) => toOpenApi(part, components);
  const converted: JsonObject = { ...rest };
  if (absent !== undefined) converted['description'] = withDefault(schema.description, absent);
  if (anyOf !== undefined) Object.assign(converted, alternatives(anyOf, inner));
  if (items !== undefined) converted['items'] = inner(items);
  if (properties !== undefined) {
    converted['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, part]) => [name, inner(part)]),
    );
  }
  for (const [pattern, part] of Object.entries(patternProperties ?? {})) {
    converted['additionalProperties'] = inner(part);
    if (pattern !== '^.*$') converted['propertyNames'] = { pattern };
  }
  return converted;
}

/**
 * Puts the default into the description: client generators make every field with a `default` required, also in
 * requests.
 */
function withDefault(description: string | undefined, value: unknown): string {
  const text = `Default: \`${JSON.stringify(value)}\`.`;
  return description === undefined ? text : `${description} ${text}`;
}

function alternatives(anyOf: readonly JsonSchema[], inner: (part: JsonSchema) => JsonObject): JsonObject {
  const constants = anyOf.map((branch) => (branch.type === 'null' ? null : branch.const));
  if (constants.some((value) => value === undefined)) return { anyOf: anyOf.map(inner) };
  return { type: constants.includes(null) ? ['string', 'null'] : 'string', enum: constants };
}
