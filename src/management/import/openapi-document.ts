/**
 * The parts of an OpenAPI description that Headgate needs (2.0, 3.0 or 3.1, converted to 3.1 first): its title,
 * servers, operations and their requirements for callers. References inside the document are followed. Other
 * references are not: nothing besides the document is fetched or read. Unreadable parts become notes.
 */
import { upgrade } from '@scalar/openapi-upgrader';
import { isObject } from '../../lib/is-object.ts';
import { unescapeToken } from '../../lib/text/json-pointer.ts';

export interface OpenApiOperation {
  readonly method: string;
  readonly path: string;
  /** Alternatives; undefined when the operation does not say. */
  readonly security: readonly SecurityRequirement[] | undefined;
}

/** Scheme names with the scopes that each of them requires; all apply together. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

export interface SecurityScheme {
  readonly type: string;
  readonly scheme: string;
  readonly bearerFormat: string;
  readonly in: string;
  readonly name: string;
}

export interface OpenApiDescription {
  readonly title: string;
  readonly version: string;
  readonly serverUrls: readonly string[];
  readonly operations: readonly OpenApiOperation[];
  readonly security: readonly SecurityRequirement[] | undefined;
  readonly schemes: ReadonlyMap<string, SecurityScheme>;
  /** What was left out, and why. */
  readonly notes: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** Methods of path items for which Headgate has no endpoint. */
const OTHER_METHODS: Readonly<Record<string, string>> = {
  head: 'the endpoint of GET also serves HEAD',
  options: 'OPTIONS has no endpoint; a `cors` policy answers preflights',
  trace: 'TRACE has no endpoint',
};
const REFERENCES_MAX = 20;
/** Members with the configuration of other gateways: backends, callers, limits. Others describe or are for clients. */
const OF_OTHER_GATEWAYS =
  /^x-(?:amazon-apigateway|apisix|google|graviteeio|ibm|kong|krakend|tyk|wso2)(?:-|$)/i;
const EXTENSIONS_LISTED_MAX = 20;

/** @returns the description, or why the document is not one */
export function readDescription(value: unknown): OpenApiDescription | { readonly problem: string } {
  if (!isObject(value)) return { problem: 'it is not an object' };
  const declared = value['openapi'] ?? value['swagger'];
  if (declared === undefined)
    return { problem: 'it has neither `openapi` nor `swagger`, which name the format' };
  if (!/^(?:2\.0|3\.[01])/.test(textOf(declared))) {
    return { problem: `it is not OpenAPI 2.0, 3.0 or 3.1 (openapi: ${textOf(declared)})` };
  }
  const document = upgraded(value);
  if (document === undefined)
    return { problem: 'it cannot be converted to OpenAPI 3.1, because parts of it are malformed' };
  const notes: string[] = [];
  const info = asObject(document['info']);
  const operations: OpenApiOperation[] = [];
  const extensions = new Set(extensionsOf(document));
  for (const [path, given] of Object.entries(asObject(document['paths']))) {
    if (!path.startsWith('/')) {
      if (!path.startsWith('x-')) notes.push(`${path}: is no path, because it does not start with "/"`);
      continue;
    }
    const item = followed(document, given);
    if (item === undefined) notes.push(`${path}: its path item is in another document, which is not read`);
    else {
      operations.push(...operationsOf(path, item, notes));
      for (const part of [item, ...METHODS.map((method) => asObject(item[method]))])
        for (const name of extensionsOf(part)) extensions.add(name);
    }
  }
  const foreign = [...extensions].slice(0, EXTENSIONS_LISTED_MAX);
  notes.unshift(...foreign.map((name) => `${name}: is configuration of another gateway, which is not read`));
  return {
    title: textOf(info['title']),
    version: textOf(info['version']),
    serverUrls: serverUrls(document['servers']),
    operations,
    security: requirements(document['security']),
    schemes: schemesOf(document),
    notes,
  };
}

function extensionsOf(part: Json): string[] {
  return Object.keys(part).filter((name) => OF_OTHER_GATEWAYS.test(name));
}

/** undefined when the document does not conform to its version. */
function upgraded(value: Json): Json | undefined {
  try {
    return upgrade(structuredClone(value), '3.1');
  } catch {
    return undefined;
  }
}

/** `v` and the major version of the description. */
export function defaultVersion({ version }: OpenApiDescription): string {
  return `v${/\d+/.exec(version)?.[0] ?? '1'}`;
}

function operationsOf(path: string, item: Json, notes: string[]): OpenApiOperation[] {
  for (const [method, why] of Object.entries(OTHER_METHODS)) {
    if (isObject(item[method])) notes.push(`${method.toUpperCase()} ${path}: ${why}`);
  }
  return METHODS.flatMap((method) => {
    const operation = item[method];
    if (!isObject(operation)) return [];
    return [{ method: method.toUpperCase(), path, security: requirements(operation['security']) }];
  });
}

/** The value itself, or the target of its internal reference. */
function followed(document: Json, given: unknown): Json | undefined {
  let value: unknown = given;
  for (let step = 0; step < REFERENCES_MAX && isObject(value); step++) {
    const reference = value['$ref'];
    if (typeof reference !== 'string') return value;
    if (!reference.startsWith('#/')) return undefined;
    const tokens = reference.slice(2).split('/').map(decodedToken);
    value = tokens.reduce<unknown>((found, token) => (isObject(found) ? found[token] : undefined), document);
  }
  return undefined;
}

/** A token with a broken percent-encoding is returned unchanged: it may still be the name. */
function decodedToken(token: string): string {
  let text = token;
  try {
    text = decodeURIComponent(token);
  } catch {
    // Not percent-encoded.
  }
  return unescapeToken(text);
}

/** The URLs with the defaults of their variables. */
function serverUrls(servers: unknown): string[] {
  if (!Array.isArray(servers)) return [];
  return servers.filter(isObject).flatMap((server) => {
    const { url } = server;
    if (typeof url !== 'string') return [];
    const variables = asObject(server['variables']);
    return [
      url.replaceAll(/\{([^{}]*)\}/g, (_match, name: string) => textOf(asObject(variables[name])['default'])),
    ];
  });
}

/**
 * undefined when the document does not say. What is written in another form, such as the name of a scheme in place of
 * an object, still asks for credentials: an alternative that cannot be read has a name that no scheme has.
 */
function requirements(value: unknown): SecurityRequirement[] | undefined {
  if (value === undefined || value === null) return undefined;
  return (Array.isArray(value) ? value : [value]).map(requirement);
}

const UNREADABLE = 'something unreadable';

function requirement(value: unknown): SecurityRequirement {
  if (typeof value === 'string') return { [value]: [] };
  if (!isObject(value)) return { [UNREADABLE]: [] };
  const entries = Object.entries(value).map(([name, scopes]) => [name, scopesOf(scopes)] as const);
  const read = entries.filter((entry): entry is [string, string[]] => entry[1] !== undefined);
  return Object.fromEntries(read.length === entries.length ? read : [...read, [UNREADABLE, []]]);
}

/** undefined: they cannot be read. */
function scopesOf(value: unknown): string[] | undefined {
  if (value === undefined || value === null) return [];
  const scopes: readonly unknown[] = Array.isArray(value) ? value : [value];
  return scopes.every((scope) => typeof scope === 'string' || typeof scope === 'number')
    ? scopes.map(String)
    : undefined;
}

function schemesOf(document: Json): Map<string, SecurityScheme> {
  const schemes = new Map<string, SecurityScheme>();
  for (const [name, given] of Object.entries(asObject(asObject(document['components'])['securitySchemes']))) {
    const scheme = followed(document, given);
    if (scheme === undefined) continue;
    const text = (member: string): string => textOf(scheme[member]);
    schemes.set(name, {
      type: text('type'),
      scheme: text('scheme').toLowerCase(),
      bearerFormat: text('bearerFormat'),
      in: text('in'),
      name: text('name'),
    });
  }
  return schemes;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function asObject(value: unknown): Json {
  return isObject(value) ? value : {};
}
