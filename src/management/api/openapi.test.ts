import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PATTERN_WORDS } from '../../model/patterns.ts';
import type { JsonSchema } from '../../model/json-schema.ts';
import {
  createBilling,
  REVISION,
  startManagement,
  VERSION,
  type Fixture,
  type Json,
} from '../management.fixture.ts';
import { validate } from './validate.ts';

let api: Fixture;
let document: Json;
beforeAll(async () => {
  api = await startManagement({ swaggerEnabled: true });
  document = (await api.get('/openapi.json', { token: null })).body;
});
afterAll(() => api[Symbol.asyncDispose]());

interface Described {
  readonly path: string;
  readonly method: string;
  readonly operation: Json;
}

function operations(): Described[] {
  return Object.entries(document.paths as Record<string, Record<string, Json>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Every object of the document, with its place. */
function* walk(value: unknown, place = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield [place, value as Record<string, unknown>];
  for (const [name, member] of Object.entries(value)) yield* walk(member, `${place}/${name}`);
}

function resolve(reference: string): Json {
  return reference
    .slice(2)
    .split('/')
    .reduce((node: Json, name) => node?.[name], document);
}

/** A schema of the document with its references replaced, as validate.ts reads schemas. */
function inlined(schema: Json): JsonSchema {
  if (Array.isArray(schema)) return schema.map(inlined) as never;
  if (typeof schema !== 'object' || schema === null) return schema as never;
  if (typeof schema.$ref === 'string') return inlined(resolve(schema.$ref));
  const { enum: values, additionalProperties, ...rest } = schema as Record<string, Json>;
  const members = Object.fromEntries(Object.entries(rest).map(([name, part]) => [name, inlined(part)]));
  if (Array.isArray(values)) {
    return {
      anyOf: values.map((value: unknown) => (value === null ? { type: 'null' } : { const: value })),
    } as JsonSchema;
  }
  if (typeof additionalProperties === 'object') {
    return { ...members, patternProperties: { '': inlined(additionalProperties) } };
  }
  return {
    ...members,
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
  };
}

interface Success {
  readonly content?: Record<string, Json>;
}

function successOf({ responses }: Json): Success {
  const status = Object.keys(responses as object).find((name) => name.startsWith('2')) ?? '';
  return responses[status];
}

/** What the schema of an operation's error says beyond that of every problem. */
function problemFields(response: Json): Json {
  return response.content['application/problem+json'].schema.allOf[1].properties;
}

describe('the OpenAPI document', () => {
  it('names the operations in plain words', () => {
    const summaries = operations().map(({ operation }) => String(operation.summary));
    expect(summaries).toContain('Create an app');
    expect(summaries.filter((summary) => /\ba [aeio]/i.test(summary))).toEqual([]);
  });

  it('has words for every pattern, for clients that send something else', () => {
    const patterns = [...walk(document)]
      .filter(([place, { pattern }]) => typeof pattern === 'string' && !place.endsWith('/propertyNames'))
      .map(([, { pattern }]) => pattern as string);
    expect(patterns.length).toBeGreaterThan(10);
    expect(patterns.filter((pattern) => PATTERN_WORDS[pattern] === undefined)).toEqual([]);
  });

  it('is 3.1 and names itself', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Headgate management API', version: '1.2.3' },
      components: { securitySchemes: { adminToken: { type: 'http', scheme: 'bearer' } } },
    });
  });

  it('has every operation of the contract', () => {
    const known = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const revision = '/api/v1/apps/{app_id}/versions/{version_id}/revisions/{revision_id}';
    expect(known).toEqual(
      expect.arrayContaining([
        'GET /api/v1/health',
        'POST /api/v1/apps',
        'POST /api/v1/apps/{app_id}/versions',
        'PATCH /api/v1/apps/{app_id}/versions/{version_id}',
        'POST /api/v1/apps/{app_id}/versions/{version_id}/revisions',
        `PATCH ${revision}`,
        `POST ${revision}/activate`,
        `POST ${revision}/endpoints`,
        `GET ${revision}/endpoints`,
        `PATCH ${revision}/endpoints/{endpoint_id}`,
        'POST /api/v1/apps/{app_id}/tokens',
      ]),
    );
    expect(new Set(known).size).toBe(known.length);
  });

  it('has unique operation ids fit for method names, and known tags', () => {
    const ids = operations().map(({ operation }) => String(operation.operationId));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
    const tags = (document.tags as { name: string }[]).map((tag) => tag.name);
    for (const { operation } of operations()) expect(tags).toContain(operation.tags[0]);
  });

  it('resolves all references and uses all components', () => {
    const used = new Set<string>();
    for (const [place, node] of walk(document)) {
      if (typeof node['$ref'] !== 'string') continue;
      expect(resolve(node['$ref']), `${place} -> ${node['$ref']}`).toBeTypeOf('object');
      used.add(node['$ref']);
    }
    for (const name of Object.keys(document.components.schemas as object)) {
      expect(used).toContain(`#/components/schemas/${name}`);
    }
  });

  it('declares every path parameter, and no other', () => {
    for (const { path, operation } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (
        operation.parameters as { in: string; name: string; required: boolean; description: string }[]
      ).filter((parameter) => parameter.in === 'path');
      expect(declared.map((parameter) => parameter.name)).toEqual(inPath);
      for (const parameter of declared)
        expect([parameter.required, parameter.description !== '']).toEqual([true, true]);
    }
  });

  it('documents a success and the errors of every operation', () => {
    for (const { method, path, operation } of operations()) {
      const { default: problem, ...others } = operation.responses as Record<string, Json>;
      const statuses = Object.keys(others);
      expect([path, statuses.filter((status) => status.startsWith('2')).length]).toEqual([path, 1]);
      const errors: readonly number[] = problemFields(problem).status.enum;
      expect(errors).toEqual(expect.arrayContaining([400, 500]));
      const isPublic = Array.isArray(operation.security);
      // A sign-in needs no credential of the call, and has one in its body.
      expect(errors.includes(401)).toBe(!isPublic || operation.operationId === 'signIn');
      if (path.includes('{')) expect(errors).toContain(404);
      if (operation.requestBody !== undefined)
        expect(errors).toEqual(expect.arrayContaining([413, 415, 422]));
      if (method === 'patch') expect(errors).toEqual(expect.arrayContaining([403, 409, 412]));
      for (const code of problemFields(problem).code.enum)
        expect(problem.description).toContain(`\`${code}\``);
      for (const [status, response] of Object.entries(operation.responses as Record<string, Json>)) {
        expect(response.description, `${method} ${path} ${status}`).toBeTruthy();
        if (status === '204' || status === '304') continue;
        expect(Object.keys(response.content as object), `${method} ${path} ${status}`).toHaveLength(1);
      }
    }
  });

  it('has one error response with one example for each operation, not one for each status', () => {
    for (const { path, operation } of operations()) {
      const problems = Object.entries(operation.responses as Record<string, Json>).filter(
        ([, { content }]) => content?.['application/problem+json'] !== undefined,
      );
      expect(problems.map(([status]) => status)).toEqual(['default']);
      const { default: problem } = operation.responses as Record<string, Json>;
      const { schema, example } = problem.content['application/problem+json'];
      expect(validate(inlined(schema.allOf[0]), example), path).toEqual([]);
      expect(problemFields(problem).code.enum).toContain(example.code);
      expect(example.instance).not.toContain('{');
    }
  });

  it('answers a creation with the envelope of the resource and nothing else, so that clients need no cast', () => {
    let dryRuns = 0;
    for (const { method, path, operation } of operations()) {
      const { schema } = Object.values(successOf(operation).content ?? {})[0] ?? {};
      if (operation['x-headgate-dry-run'] !== undefined) {
        dryRuns++;
        expect(operation['x-headgate-dry-run'].content['application/json'].schema).toEqual({
          $ref: '#/components/schemas/DryRunEnvelope',
        });
        expect(operation.description).toContain('`DryRunEnvelope`');
      }
      expect(JSON.stringify(operation.responses), `${method} ${path}`).not.toContain('DryRun');
      expect(schema?.anyOf, `${method} ${path}`).toBeUndefined();
    }
    expect(dryRuns).toBeGreaterThan(15);
    const { post } = document.paths['/api/v1/apps'];
    expect(post.responses['201'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/AppEnvelope',
    });
    const { data } = document.components.schemas.AppEnvelope.properties;
    expect(resolve(data.$ref).required).toContain('id');
  });

  it('tells defaults in words: generators take the keyword for "always there", in requests, too', () => {
    for (const [place, node] of walk(document.components.schemas)) {
      expect('default' in node && !place.endsWith('/properties'), place).toBe(false);
    }
    const { AppInput, RevisionInput, RateLimit, App, Revision } = document.components.schemas;
    expect(AppInput.required).toEqual(['name', 'slug', 'gateway_path']);
    // And backend_host or targets, which no list of required fields can say.
    expect(RevisionInput.required).toEqual(['revision']);
    expect(RateLimit.required ?? []).toEqual([]);
    expect(AppInput.properties.routing_mode.description).toContain('Default: `"pass_through"`');
    // In answers they are always there.
    for (const schema of [App, Revision]) {
      expect(schema.required).toEqual(Object.keys(schema.properties as object));
    }
  });

  it('has examples of answers as they are: valid, and in words that a person would write', () => {
    let examples = 0;
    for (const { path, operation } of operations()) {
      for (const { schema, example } of Object.values(successOf(operation).content ?? {})) {
        if (example === undefined) continue;
        examples++;
        expect(validate(inlined(schema), example), path).toEqual([]);
        expect(JSON.stringify(example), path).not.toMatch(/"string"|example\.com|foo|bar"/);
      }
    }
    expect(examples).toBeGreaterThan(25);
    const created = document.paths['/api/v1/apps'].post.responses['201'].content['application/json'];
    expect(created.example.data).toMatchObject({ name: 'Billing', slug: 'billing' });
    const revisions = '/api/v1/apps/{app_id}/versions/{version_id}/revisions';
    const revision = document.paths[revisions].post.responses['201'].content['application/json'];
    expect(revision.example.data).toMatchObject({ backend_host: 'billing.internal' });
  });

  it('uses no keyword that OpenAPI generators do not know, and no hidden marks of the schema builder', () => {
    for (const [place, node] of walk(document.components.schemas)) {
      expect(
        Object.keys(node).filter((name) => name.startsWith('~')),
        place,
      ).toEqual([]);
    }
    expect(JSON.stringify(document)).not.toContain('patternProperties');
  });

  it('has request examples that are valid', () => {
    let examples = 0;
    for (const { operation, path } of operations()) {
      for (const media of Object.values((operation.requestBody?.content ?? {}) as Record<string, Json>)) {
        examples++;
        expect(media.example, path).toBeTypeOf('object');
        expect(validate(inlined(media.schema), media.example), path).toEqual([]);
      }
    }
    expect(examples).toBeGreaterThan(10);
  });

  it('describes what the server really answers', async () => {
    await createBilling(api);
    await api.patch('/apps/billing', {
      labels: { a: 'b' },
      default_policy: {
        auth: { auth_type: 'api_key' },
        rate_limit: { enabled: true, requests: 1, window_seconds: 1 },
      },
    });
    const endpoint = await api.post(`${REVISION}/endpoints`, { method: 'GET', path: '/a' });
    const key = await api.post('/apps/billing/tokens', { name: 'k', scopes: ['a'] });
    const admin = await api.post('/admin/tokens', { name: 'x', role: 'viewer' });
    const samples: [string, string, Json][] = [
      ['createEndpoint', '201', endpoint],
      ['createToken', '201', key],
      ['createAdminToken', '201', admin],
      ['getApp', '200', await api.get('/apps/billing')],
      ['listApps', '200', await api.get('/apps')],
      ['getVersion', '200', await api.get(VERSION)],
      ['listVersions', '200', await api.get('/apps/billing/versions')],
      ['getRevision', '200', await api.get(REVISION)],
      ['listRevisions', '200', await api.get(`${VERSION}/revisions`)],
      ['activateRevision', '200', await api.post(`${REVISION}/activate`)],
      ['getRevisionBreaker', '200', await api.get(`${REVISION}/breaker`)],
      ['getRevisionHealth', '200', await api.get(`${REVISION}/health`)],
      ['getRevisionEffectivePolicy', '200', await api.get(`${REVISION}/effective-policy`)],
      ['listEndpoints', '200', await api.get(`${REVISION}/endpoints`)],
      ['listTokens', '200', await api.get('/apps/billing/tokens')],
      ['rotateToken', '200', await api.post(`/apps/billing/tokens/${key.body.data.id}/rotate`)],
      ['listAdminTokens', '200', await api.get('/admin/tokens')],
      ['listAuditEntries', '200', await api.get('/audit')],
      ['getHealth', '200', await api.get('/health')],
      ['createApp', '422', await api.post('/apps', {})],
      ['getApp', '404', await api.get('/apps/none')],
    ];
    for (const [operationId, status, reply] of samples) {
      const { operation } = operations().find((each) => each.operation.operationId === operationId) ?? {};
      const response = operation?.responses[status] ?? operation?.responses.default;
      const [media] = Object.values(response.content as Record<string, Json>);
      expect([operationId, String(reply.status)]).toEqual([operationId, status]);
      const { allOf } = media.schema;
      for (const schema of allOf ?? [media.schema]) {
        expect(validate(inlined(schema), reply.body), operationId).toEqual([]);
      }
    }
  });
});

describe('Swagger UI', () => {
  it('is served with the document when enabled, without a token', async () => {
    const page = await fetch(`${api.url}/swagger-ui/`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const html = await page.text();
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
      ([, asset]) => new URL(asset ?? '', page.url),
    );
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      const reply = await fetch(asset);
      expect(reply.status, asset.href).toBe(200);
      expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(0);
    }
    const served = await fetch(`${api.url}/swagger-ui/json`);
    expect(await served.json()).toEqual(document);
  });

  it.each([
    ['of one NUL', '%00'],
    ['that ends with NUL', 'index.css%00'],
    ['of 5,000 characters', 'a'.repeat(5_000)],
  ])('has no file with a name %s, which is no defect', async (_what, name) => {
    const reply = await fetch(`${api.url}/swagger-ui/static/${name}`);
    expect([reply.status, await reply.json()]).toMatchObject([404, { code: 'not_found' }]);
  });
});
