/**
 * A client that knows nothing but an OpenAPI 3.1 document: it builds each request from the operation's description
 * and holds each answer against it: status, media type, schema (with a validator that the gateway does not use),
 * headers. Remembers what was called and what was answered.
 */
import { Compile } from 'typebox/schema';
import { expect } from 'vitest';

// oxlint-disable-next-line typescript/no-explicit-any -- documents are looked into freely by tests
type Json = any;

export interface CallOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON and held against the documented schema, unless `raw` is given. */
  readonly body?: unknown;
  /** Sent as it is, with this Content-Type. */
  readonly raw?: { readonly text: string; readonly type: string };
  /** null: none. */
  readonly token?: string | null;
}

export interface Described {
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Json;
}

export interface OpenApiClient {
  readonly operations: readonly Described[];
  /** `operationId status` of every answer so far. */
  readonly answered: ReadonlySet<string>;
  /** Fails the test when the answer is not as documented; gives status, headers and the parsed body. */
  readonly call: (
    operationId: string,
    options?: CallOptions,
  ) => Promise<{ readonly status: number; readonly headers: Headers; readonly body: Json }>;
}

export function openApiClient(document: Json, base: string, token: string): OpenApiClient {
  const operations: Described[] = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({
      operationId: operation.operationId as string,
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
  const answered = new Set<string>();
  const validator = schemaErrors(document);

  return {
    operations,
    answered,
    async call(operationId, options = {}) {
      const found = operations.find((each) => each.operationId === operationId);
      if (found === undefined) throw new Error(`The document has no operation ${operationId}`);
      const response = await fetch(
        base + target(found, options),
        requestOf(found, options, token, validator),
      );
      const isStream = response.headers.get('content-type') === EVENT_STREAM;
      const text = isStream ? await firstEvent(response) : await response.text();
      const what = `${operationId} ${response.status}`;
      const documented = responseOf(found, response.status, options.query?.['dry_run'] === 'true');
      expect(documented, `${what} is documented; it answered ${text}`).toBeDefined();
      const type = response.headers.get('content-type')?.split(';')[0] ?? null;
      const content: [string, Json][] = Object.entries(documented.content ?? {});
      if (content.length === 0) expect([what, text]).toEqual([what, '']);
      else {
        const media = content.find(([name]) => name.split(';')[0] === type);
        expect(media, `${what}: ${type} is documented`).toBeDefined();
        const value: unknown = type?.endsWith('json') || isStream ? JSON.parse(text) : text;
        expect(validator(media?.[1].schema, value), `${what}: ${text}`).toEqual([]);
      }
      for (const name of Object.keys(documented.headers ?? {})) {
        // Nothing is written by a dry run, so there is nothing to obey.
        if (name === 'Headgate-Nodes-Applied' && isDryRun(options)) continue;
        // Only while the database is away.
        if (name === 'Headgate-Stale') expect(response.headers.get(name), what).toBeNull();
        else expect(response.headers.get(name), `${what}: ${name}`).not.toBeNull();
      }
      answered.add(what);
      const isJson = type?.endsWith('json') === true && text !== '';
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    },
  };
}

const EVENT_STREAM = 'text/event-stream';

/** Data of the first event of a stream, which is then closed. */
async function firstEvent(response: Response): Promise<string> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    const data = /^data: (.*)$/m.exec(text)?.[1];
    if (data !== undefined && text.endsWith('\n\n')) return data;
  }
  throw new Error(`The stream ended without an event: ${text}`);
}

/** By its query, or by a member of its body. */
function isDryRun({ query, body }: CallOptions): boolean {
  return query?.['dry_run'] === 'true' || (body as { dry_run?: unknown } | undefined)?.dry_run === true;
}

/** A dry run has its own answer; errors are one response for all statuses, which its schema lists. */
function responseOf({ operation }: Described, status: number, isDryRun: boolean): Json {
  const dryRun = operation['x-headgate-dry-run'];
  if (isDryRun && status === dryRun?.status) return dryRun;
  return operation.responses[status] ?? (status >= 400 ? operation.responses.default : undefined);
}

/** The codes of the errors that an operation documents. */
export function errorCodes(operation: Json): readonly string[] {
  const { allOf } = operation.responses.default.content['application/problem+json'].schema;
  return allOf[1].properties.code.enum;
}

function target({ path, operation }: Described, { params = {}, query = {} }: CallOptions): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => {
    const parameter = operation.parameters.find((each: Json) => each.in === 'path' && each.name === name);
    if (parameter?.required !== true) throw new Error(`${path}: ${name} is not documented as required`);
    const value = params[name];
    if (value === undefined) throw new Error(`${path} needs ${name}`);
    return encodeURIComponent(value);
  });
  const text = new URLSearchParams(query).toString();
  return text === '' ? filled : `${filled}?${text}`;
}

function requestOf(
  { method, operation, operationId }: Described,
  { headers = {}, body, raw, token }: CallOptions,
  defaultToken: string,
  validator: (schema: Json, value: unknown) => Json[],
): RequestInit {
  const isPublic = operation.security?.length === 0;
  const credential = token === undefined && !isPublic ? defaultToken : token;
  const authorization = credential ? { authorization: `Bearer ${credential}` } : {};
  if (raw !== undefined) {
    return { method, body: raw.text, headers: { ...authorization, 'content-type': raw.type, ...headers } };
  }
  if (body === undefined) return { method, headers: { ...authorization, ...headers } };
  const media = operation.requestBody?.content?.['application/json'];
  expect(media, `${operationId} documents a body`).toBeDefined();
  expect(validator(media.schema, body), `${operationId}: what is sent is as documented`).toEqual([]);
  const type = { 'content-type': 'application/json' };
  return { method, body: JSON.stringify(body), headers: { ...authorization, ...type, ...headers } };
}

/** What of a value does not fit a schema of the document. */
export function schemaErrors(document: Json): (schema: Json, value: unknown) => Json[] {
  const inline = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(inline);
    if (typeof node !== 'object' || node === null) return node;
    if (typeof node.$ref === 'string') return inline(at(document, node.$ref));
    return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, inline(part)]));
  };
  return (schema, value) => {
    const compiled = Compile(inline(schema));
    return compiled.Check(value) ? [] : (compiled.Errors(value)[1] as Json[]);
  };
}

function at(document: Json, reference: string): Json {
  const node = reference
    .slice(2)
    .split('/')
    .reduce((parent: Json, name) => parent?.[name], document);
  if (node === undefined) throw new Error(`${reference} leads nowhere`);
  return node;
}
