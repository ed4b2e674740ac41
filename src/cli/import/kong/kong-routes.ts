/** Turns Kong's routes into routes of the import: paths, methods, and other conditions. */
import { ENDPOINT_METHODS, type ImportedPattern } from '../imported-route.ts';
import { HOSTS_ELSEWHERE, type AskedHost } from '../route-hosts.ts';
import type { SourceNode } from '../source.ts';
import { readKongPath, widerThanRegex } from './kong-paths.ts';
import type { KongRoute } from './kong-document.ts';

export interface RouteMatch {
  readonly methods: readonly string[];
  readonly patterns: readonly ImportedPattern[];
  /** Methods that endpoints cannot have are allowed by a policy instead. */
  readonly allowedMethods: readonly string[] | undefined;
  readonly preserveHost: boolean;
  readonly hosts: readonly AskedHost[];
  /** `http` or `https`; undefined: both. */
  readonly listeners: readonly string[] | undefined;
}

/** Conditions that this gateway does not check; without them the route would take requests of others. */
const CONDITIONS: Readonly<Record<string, string>> = {
  headers: 'a path of its own, or `per: header:<name>` of limits',
  snis: 'a gateway of its own',
  sources: '`ip_access`',
  destinations: 'a gateway of its own',
  expression: 'a path of its own',
};

/** undefined when the whole route was reported. */
export function matchOf(
  { node }: KongRoute,
  index: number,
  regexWithoutTilde: boolean,
  hasCors: boolean,
): RouteMatch | undefined {
  const condition = Object.keys(CONDITIONS).find((name) => node.has(name) && !node.isEmpty(name));
  const isLeftOut = condition !== undefined;
  if (isLeftOut)
    node.lost(
      `is chosen by ${condition}, and routes are chosen by path and method here`,
      CONDITIONS[condition],
    );
  if (!speaksHttp(node)) return undefined;
  const hosts = node.texts('hosts') ?? [];
  const given = methodNames(node);
  if (isUnread(node, 'paths'))
    node.lost('has no path that can be read, and without a path it would match every request');
  const pathHandling = node.text('path_handling');
  if (pathHandling === 'v1') node.changed('is v0 here', undefined, 'path_handling');
  for (const buffering of ['request_buffering', 'response_buffering']) {
    if (node.boolean(buffering) === true)
      node.changed('is false here: bodies are streamed', '`buffer_request_bytes`', buffering);
  }
  node.noEffect(
    'is for redirects to HTTPS, which are a setting here (GATEWAY_PROXY__HTTPS_REDIRECT_PORT) and have status 308',
    'https_redirect_status_code',
  );
  const strips = node.boolean('strip_path') ?? true;
  const regexPriority = node.number('regex_priority') ?? 0;
  const categories = [hosts.length > 0, given?.length !== 0, node.has('paths')].filter(Boolean).length;
  const patterns = patternsOf(node, { strips, regexPriority, categories, index, regexWithoutTilde });
  if (isLeftOut || given === undefined) return leftOut(patterns, given ?? []);
  const { methods, allowedMethods } = methodsOf(given, node, hasCors);
  const asked = hosts.map(({ text, node: host }) => ({
    text,
    lost: () => host.lost('is not a condition here: the route is served under every name', HOSTS_ELSEWHERE),
  }));
  return {
    methods,
    patterns,
    allowedMethods,
    preserveHost: node.boolean('preserve_host') ?? false,
    hosts: asked,
    listeners: listenersOf(node),
  };
}

/** Of a route that is chosen by more than methods and paths. */
function leftOut(patterns: readonly ImportedPattern[], methods: readonly string[]): RouteMatch {
  const isPlain = methods.length > 0 && methods.every((method) => ENDPOINT_METHODS.includes(method));
  return {
    methods: isPlain ? methods : ['*'],
    patterns: patterns.map((pattern) => ({ ...pattern, isLeftOut: true })),
    allowedMethods: undefined,
    preserveHost: false,
    hosts: [],
    listeners: undefined,
  };
}

function listenersOf(node: SourceNode): readonly string[] | undefined {
  const schemes = new Set(
    (node.texts('protocols') ?? []).map(({ text }) => (text.endsWith('s') ? 'https' : 'http')),
  );
  return schemes.size === 1 ? [...schemes] : undefined;
}

/** Whether a list has content of which nothing could be read: without it, the route would be wider. */
function isUnread(node: SourceNode, name: string): boolean {
  return node.has(name) && !node.isEmpty(name) && (node.texts(name) ?? []).length === 0;
}

/** undefined when some cannot be read, or none can be a method: the route would otherwise match every method. */
function methodNames(node: SourceNode): string[] | undefined {
  const items = node.texts('methods') ?? [];
  const names = items.flatMap(({ text, node: item }) => {
    if (/^[A-Za-z-]+$/.test(text)) return [text.toUpperCase()];
    item.lost('is not a method');
    return [];
  });
  if (node.ledger.hasUnread(`${node.pointer}/methods`)) return undefined;
  if (names.length > 0 || !node.has('methods') || node.isEmpty('methods')) return names;
  node.lost('has no method that a request can have');
  return undefined;
}

/** gRPC uses HTTP/2, which clients may speak on every route. */
const HTTP_PROTOCOLS: ReadonlySet<string> = new Set(['http', 'https', 'grpc', 'grpcs']);

function speaksHttp(node: SourceNode): boolean {
  const protocols = node.texts('protocols') ?? [];
  const foreign = protocols.filter(({ text }) => !HTTP_PROTOCOLS.has(text));
  if (foreign.length > 0 && foreign.length === protocols.length) {
    node.lost(`speaks ${foreign.map(({ text }) => text).join(', ')}, and this gateway speaks HTTP only`);
    return false;
  }
  for (const { node: item } of foreign) item.lost('is not a protocol of this gateway');
  const [only, ...others] = protocols.filter((item) => !foreign.includes(item));
  if (only !== undefined && others.length === 0 && only.text === 'https')
    only.node.changed('allows only HTTPS: here HTTP is not refused', 'GATEWAY_PROXY__HTTPS_REDIRECT_PORT');
  if (only !== undefined && others.length === 0 && only.text === 'http')
    only.node.changed('allows only HTTP: here HTTPS is not refused');
  return true;
}

interface PathWork {
  readonly strips: boolean;
  readonly regexPriority: number;
  readonly categories: number;
  readonly index: number;
  readonly regexWithoutTilde: boolean;
}

/**
 * Patterns in Kong's order: more kinds of conditions first, then regular expressions by priority, longer paths,
 * earlier routes.
 */
function patternsOf(node: SourceNode, work: PathWork): ImportedPattern[] {
  const { strips, regexPriority, categories, index, regexWithoutTilde } = work;
  const paths = node.texts('paths') ?? [];
  const every = { segments: ['*'], drop: 0, priority: [categories, 0, 0, 0, -index], node };
  const hasUnread = node.ledger.hasUnread(`${node.pointer}/paths`);
  if (paths.length === 0 && !hasUnread) return [every];
  const known = paths.flatMap(({ text, node: item }): ImportedPattern[] => {
    const read = readKongPath(text, regexWithoutTilde);
    if ('problem' in read) {
      item.lost(read.problem, 'an endpoint for each path');
      if (!read.isRegex) return [];
      const priority = [categories, 1, regexPriority, text.length, -index];
      return [{ ...widerThanRegex(text), drop: 0, priority, node: item, isLeftOut: true, isWider: true }];
    }
    for (const difference of read.differences) item.changed(difference);
    const { isRegex } = read;
    const priority = [categories, isRegex ? 1 : 0, isRegex ? regexPriority : 0, text.length, -index];
    return read.patterns.map((segments) => ({
      segments,
      drop: strips ? Math.min(read.stripped, segments.length) : 0,
      priority,
      node: item,
      isTextPrefix: read.isTextPrefix,
      isWider: read.isWider,
    }));
  });
  // One that cannot be read may be any path.
  return hasUnread ? [...known, { ...every, isLeftOut: true, isWider: true }] : known;
}

function methodsOf(
  given: readonly string[],
  node: SourceNode,
  hasCors: boolean,
): Pick<RouteMatch, 'methods' | 'allowedMethods'> {
  if (given.length === 0) return { methods: ['*'], allowedMethods: undefined };
  const own = [...new Set(given.filter((method) => ENDPOINT_METHODS.includes(method)))];
  const others = [...new Set(given)].filter(
    (method) => !ENDPOINT_METHODS.includes(method) && !(method === 'HEAD' && own.includes('GET')),
  );
  if (own.includes('GET') && !given.includes('HEAD'))
    node.changed('also allows HEAD, because it allows GET', undefined, 'methods');
  if (others.length === 0) return { methods: own, allowedMethods: undefined };
  if (others.length === 1 && others[0] === 'OPTIONS' && hasCors && own.length > 0) {
    node.changed('has OPTIONS for preflights only, which the gateway answers', undefined, 'methods');
    return { methods: own, allowedMethods: undefined };
  }
  node.changed('are allowed by policy: another method gets 405', undefined, 'methods');
  return { methods: ['*'], allowedMethods: [...new Set(given)] };
}
