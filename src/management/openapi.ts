/**
 * The OpenAPI 3.1 document, made from the list of operations that the server serves. Schemas with a title become
 * components, so that generated clients get readable names; unions of constants become enums. Pure.
 */
import { ERRORS, type ErrorCode } from '../model/errors.ts';
import { DryRunSchema } from '../model/schemas/dry-run.ts';
import { envelopeSchema, ProblemSchema } from '../model/schemas/envelope.ts';
import { jsonSchema, type JsonSchema } from '../model/schemas/json-schema.ts';
import { JSON_TYPE, MERGE_PATCH_TYPE, type Operation } from './operation.ts';
import { NODES_APPLIED_HEADER } from './write.ts';

export type JsonObject = Record<string, unknown>;

const PROBLEM_TYPE = 'application/problem+json';
const DRY_RUN_ENVELOPE = jsonSchema(envelopeSchema('DryRunEnvelope', DryRunSchema));
const OR_DRY_RUN = '; with `dry_run=true` what would change';
const TAGS: readonly (readonly [string, string])[] = [
  ['Apps', 'Services behind the gateway'],
  ['Versions', 'Public versions of an app, each with its gateway path'],
  ['Revisions', 'Deployments of a version: where its traffic goes'],
  ['Endpoints', 'Registered methods and paths of a revision'],
  ['Tokens', 'API keys of an app’s clients'],
  ['Explain', 'What the gateway does, or did, with a request, and why'],
  ['Admin', 'Admin tokens and the audit log'],
  ['Service', 'Health, probes, metrics'],
];
const PARAMETERS: Readonly<Record<string, string>> = {
  app_id: 'Id or slug of the app.',
  version_id: 'Id or label of the version.',
  revision_id: 'Id or label of the revision.',
  endpoint_id: 'Id of the endpoint.',
  token_id: 'Id of the token.',
  request_id: 'X-Request-Id of the response.',
  debug_token_id: 'Id of the debug token.',
  admin_token_id: 'Id of the admin token.',
};

/** @param version of Headgate */
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
      description: 'Configures the gateway. A write that has been answered is in force on every worker.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    security: [{ adminToken: [] }],
    paths,
    components: {
      schemas: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: {
        adminToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'GATEWAY_ADMIN_TOKEN or a token made with POST /api/v1/admin/tokens.',
        },
      },
    },
  };
}

/** The errors that an operation can answer with, in the order of their statuses. */
export function failureCodes(operation: Operation): ErrorCode[] {
  const codes: ErrorCode[] = ['invalid_query', 'internal_error', ...operation.failures];
  if (operation.access !== 'public')
    codes.push('unauthenticated', 'too_many_auth_failures', 'storage_unavailable');
  if (operation.access === 'editor' || operation.access === 'admin') codes.push('forbidden');
  if (operation.path.includes('{')) codes.push('not_found');
  if (operation.entityTag && operation.method !== 'GET') codes.push('precondition_failed');
  if (operation.body !== undefined) {
    codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type', 'validation_failed');
  }
  return codes.sort((a, b) => ERRORS[a].status - ERRORS[b].status || (a < b ? -1 : 1));
}

function describe(operation: Operation, components: Map<string, JsonObject>): JsonObject {
  const { body, description } = operation;
  return {
    operationId: operation.operationId,
    tags: [operation.tag],
    summary: operation.summary,
    ...(description !== undefined && { description }),
    ...(operation.access === 'public' && { security: [] }),
    parameters: parameters(operation, components),
    ...(body !== undefined && { requestBody: requestBody(body, components) }),
    responses: responses(operation, components),
  };
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
    schema: toOpenApi(schema, components),
  }));
  const precondition = operation.method === 'GET' ? 'If-None-Match' : 'If-Match';
  const header = { name: precondition, in: 'header', required: false, schema: { type: 'string' } };
  return [...inPath, ...inQuery, ...(operation.entityTag ? [header] : [])];
}

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
  const { success, degraded } = operation;
  const dryRun = operation.query.properties?.['dry_run'] !== undefined;
  const schema = dryRun && success.status === 200 ? eitherOr(success.schema) : success.schema;
  const content = schema && {
    [success.contentType ?? JSON_TYPE]: {
      schema: toOpenApi(schema, components),
      ...(success.example !== undefined && { example: success.example }),
    },
  };
  const result: JsonObject = {
    [success.status]: {
      description: success.description + (dryRun && success.status === 200 ? OR_DRY_RUN : ''),
      ...successHeaders(operation),
      ...(content && { content }),
    },
  };
  if (dryRun && success.status !== 200) {
    const media = { [JSON_TYPE]: { schema: toOpenApi(DRY_RUN_ENVELOPE, components) } };
    result['200'] = { description: 'With `dry_run=true`: what would change', content: media };
  }
  if (operation.method === 'GET' && operation.entityTag) {
    result['304'] = { description: 'If-None-Match names the current ETag' };
  }
  const byStatus = Map.groupBy(failureCodes(operation), (code) => ERRORS[code].status);
  for (const [status, codes] of byStatus) result[status] = problem(codes);
  if (degraded !== undefined) result['503'] = { description: degraded, ...(content && { content }) };
  return result;
}

/** The schema of a success whose status a dry run has, too. */
function eitherOr(schema: JsonSchema | undefined): JsonSchema {
  return { anyOf: schema === undefined ? [DRY_RUN_ENVELOPE] : [schema, DRY_RUN_ENVELOPE] };
}

function successHeaders(operation: Operation): JsonObject {
  const { isWrite } = operation;
  const { status } = operation.success;
  const headers = {
    ...((operation.entityTag || status === 201) && status !== 204 && { ETag: textHeader('For If-Match.') }),
    ...(status === 201 && { Location: textHeader('Path of the new resource.') }),
    ...(isWrite && {
      [NODES_APPLIED_HEADER]: textHeader(
        'How many of the gateways that live obey the write, such as `2/2`. Not on a dry run.',
      ),
    }),
  };
  return Object.keys(headers).length === 0 ? {} : { headers };
}

const textHeader = (description: string) => ({ description, schema: { type: 'string' } });

function problem(codes: readonly ErrorCode[]): JsonObject {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join('. '),
    content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
  };
}

/** A schema as OpenAPI has it; one with a title becomes a component and is referred to. */
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
  const { anyOf, properties, patternProperties, items, ...rest } = schema;
  const inner = (part: JsonSchema) => toOpenApi(part, components);
  const converted: JsonObject = { ...rest };
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

function alternatives(anyOf: readonly JsonSchema[], inner: (part: JsonSchema) => JsonObject): JsonObject {
  const constants = anyOf.map((branch) => (branch.type === 'null' ? null : branch.const));
  if (constants.some((value) => value === undefined)) return { anyOf: anyOf.map(inner) };
  return { type: constants.includes(null) ? ['string', 'null'] : 'string', enum: constants };
}
