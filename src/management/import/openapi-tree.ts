/**
 * Creates a declared configuration from an OpenAPI description, on top of what the gateway has: importing again only
 * changes what has changed in the description, and an operation that is gone is disabled, not deleted. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { endpointShape, parseEndpointPath } from '../../config/path-patterns.ts';
import { counted } from '../../lib/text/counted.ts';
import type { OpenApiDescription, OpenApiOperation } from './openapi-document.ts';
import { securityOf, type SecurityResult } from './openapi-security.ts';

export interface ImportOptions {
  readonly app: string;
  readonly version: string;
  readonly revision: string;
  readonly gatewayPath: string | undefined;
  /** URL of the backend; undefined: the first absolute server of the description. */
  readonly backend: string | undefined;
  /** Whether `security` becomes part of policies. */
  readonly security: boolean;
}

export interface ImportedTree {
  readonly app: Item;
  /** What could not be imported, with the reason. */
  readonly notes: readonly string[];
  readonly operations: number;
}

type Item = Readonly<Record<string, unknown>>;

/**
 * @param known the declared app; undefined when there is none
 * @returns a problem if no backend is given and the description names none, or if it is not a URL
 */
export function importTree(
  description: OpenApiDescription,
  options: ImportOptions,
  known: Item | undefined,
): ImportedTree | { readonly problem: string } {
  const notes = [...description.notes];
  const versions = itemsOf(known, 'versions');
  const version = versions[options.version] ?? {};
  const revisions = itemsOf(version, 'revisions');
  const revision = revisions[options.revision];
  const backend = revision === undefined ? backendOf(description, options.backend) : {};
  if ('problem' in backend) return { problem: String(backend['problem']) };
  const common = options.security ? securityOf(undefined, description) : undefined;
  const endpoints = endpointsOf(description, common, itemsOf(revision, 'endpoints'), notes);
  const made: Item = {
    ...(revision ?? { ...backend, is_current: true }),
    ...(common?.policy !== undefined && {
      default_policy: { ...(revision?.['default_policy'] as object | undefined), ...common.policy },
    }),
    endpoints,
  };
  if (!asksForCallers(known?.['default_policy']) && !asksForCallers(made['default_policy']))
    notes.unshift(...(options.security ? leftOpen(description, endpoints) : securityLeftOut(description)));
  return {
    app: {
      ...(known ?? {
        name: description.title === '' ? options.app : description.title.slice(0, 200),
        gateway_path: options.gatewayPath ?? `/${options.app}`,
        routing_mode: 'managed_endpoint',
      }),
      versions: {
        ...versions,
        [options.version]: { ...version, revisions: { ...revisions, [options.revision]: made } },
      },
    },
    notes,
    operations: description.operations.length,
  };
}

/** Whether a policy asks who calls. */
function asksForCallers(policy: unknown): boolean {
  if (typeof policy !== 'object' || policy === null) return false;
  const { auth, required_scopes: scopes } = policy as {
    auth?: { auth_type?: unknown };
    required_scopes?: unknown;
  };
  return scopes !== undefined || (auth !== undefined && auth.auth_type !== 'none');
}

/** The operations for which the description requires credentials. */
function protectedOperations({ operations, security }: OpenApiDescription): OpenApiOperation[] {
  // The document's own requirements are looked at once, however long it is.
  const isCommonAsked = asksAlways(security);
  return operations.filter(({ security: own }) => (own === undefined ? isCommonAsked : asksAlways(own)));
}

function asksAlways(needed: OpenApiDescription['security'] = []): boolean {
  return needed.length > 0 && needed.every((requirement) => Object.keys(requirement).length > 0);
}

/** A note if the description protects operations that every client may call after this import. */
function securityLeftOut(description: OpenApiDescription): readonly string[] {
  if (protectedOperations(description).length === 0) return [];
  return [
    'security: left out, so every client may call operations that require credentials in the description; import with "security" (--security), or give the app a policy with "auth"',
  ];
}

/** The same, of an import that carries security over: that of some operations has no counterpart. */
function leftOpen(
  description: OpenApiDescription,
  endpoints: Readonly<Record<string, Item>>,
): readonly string[] {
  const open = protectedOperations(description).filter((operation) => {
    const endpoint = endpoints[labelOf(operation)];
    return endpoint !== undefined && !asksForCallers(endpoint['policy_override']);
  });
  if (open.length === 0) return [];
  const { length: count } = open;
  return [
    `security: every client may call ${counted(count, 'operation')} whose credentials cannot be carried over; give the app a policy with "auth"`,
  ];
}

/** Endpoints of the description, and those that are no longer in it, disabled. */
function endpointsOf(
  description: OpenApiDescription,
  common: SecurityResult | undefined,
  known: Readonly<Record<string, Item>>,
  notes: string[],
): Record<string, Item> {
  const endpoints: Record<string, Item> = {};
  const shapes = new Map<string, string>();
  for (const operation of description.operations) {
    const path = withPlainNames(operation.path);
    const label = labelOf(operation);
    const pattern = parseEndpointPath(path);
    if ('error' in pattern) {
      notes.push(
        `${label}: no endpoint can have this path (${pattern.error}); the nearest alternative is a "*" segment at this place`,
      );
      continue;
    }
    const shape = `${operation.method} ${endpointShape(path)}`;
    const same = shapes.get(shape);
    if (same !== undefined) {
      notes.push(`${label}: left out, because ${same} matches the same requests`);
      continue;
    }
    shapes.set(shape, label);
    const { is_active: _active, ...kept } = known[label] ?? {};
    const override = kept['policy_override'] as Item | undefined;
    const policy =
      common === undefined ? override : overrideOf(operation, description, common, override, notes);
    const { policy_override: _override, ...rest } = kept as Item;
    endpoints[label] = policy === undefined ? rest : { ...rest, policy_override: policy };
  }
  for (const [label, item] of Object.entries(known)) {
    if (!Object.hasOwn(endpoints, label)) endpoints[label] = { ...item, is_active: false };
  }
  return endpoints;
}

const labelOf = ({ method, path }: OpenApiOperation): string => `${method} ${withPlainNames(path)}`;

/** Parameters with names that endpoints can have: `{pet.id}` becomes `{pet_id}`. */
function withPlainNames(path: string): string {
  return path.replaceAll(
    /\{([^{}/]+)\}/g,
    (_match, name: string) => `{${name.replaceAll(/[^A-Za-z0-9_-]/g, '_')}}`,
  );
}

/** The policy of an operation if it differs from the common one; other parts of the existing policy stay. */
function overrideOf(
  operation: OpenApiOperation,
  description: OpenApiDescription,
  { policy: common, note: commonNote }: SecurityResult,
  known: Item | undefined,
  notes: string[],
): Item | undefined {
  // The document's own requirements are computed once, however long it is.
  const isCommon = operation.security === undefined;
  const { policy, note } = isCommon
    ? { policy: common, note: commonNote }
    : securityOf(operation.security, description);
  if (note !== undefined) notes.push(`${operation.method} ${operation.path}: ${note}`);
  if (policy === undefined) return known;
  const { auth: _auth, required_scopes: _scopes, ...others } = known ?? {};
  if (isCommon || isDeepStrictEqual(policy, common))
    return Object.keys(others).length === 0 ? undefined : others;
  const inherited = common?.required_scopes !== undefined && policy.required_scopes === undefined;
  return { ...others, ...policy, ...(inherited && { required_scopes: [] }) };
}

function backendOf({ serverUrls }: OpenApiDescription, given: string | undefined): Item {
  const url = given ?? serverUrls.find((candidate) => /^https?:\/\//.test(candidate));
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    const why =
      url === undefined
        ? 'The description names no server with a host'
        : `"${url}" is not an http or https URL`;
    return { problem: why };
  }
  const isHttp = parsed.protocol === 'http:';
  const path = withoutSlashesAtEnd(parsed.pathname);
  return {
    ...(isHttp && { backend_scheme: 'http' }),
    backend_host: parsed.hostname.replaceAll(/^\[|\]$/g, ''),
    ...((isHttp || parsed.port !== '') && { backend_port: parsed.port === '' ? 80 : Number(parsed.port) }),
    ...(path !== '' && { backend_base_path: path }),
  };
}

/** Not with a pattern such as `/+$`, whose time grows with the square of the length. */
function withoutSlashesAtEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function itemsOf(item: Item | undefined, collection: string): Readonly<Record<string, Item>> {
  const items = item?.[collection];
  // Labels come from the document or the client: they must not find inherited members of objects.
  const own = typeof items === 'object' && items !== null ? items : {};
  return Object.assign(Object.create(null) as Record<string, Item>, own);
}
