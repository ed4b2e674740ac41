/** Translates Traefik's middlewares into parts of a policy and changes of the path. */
import type { Item } from '../imported-route.ts';
import { blockOf } from '../kong/plugins/origin-plugins.ts';
import { literalSegments, type Segments } from '../route-patterns.ts';
import type { SourceNode } from '../source.ts';
import { durationMs } from './duration.ts';
import { headersOf } from './headers.ts';

export interface TranslatedMiddleware {
  readonly parts: Item;
  readonly strip?: readonly Segments[];
  readonly prefix?: string;
  /** Requests are not answered by the backend: the router is left out. */
  readonly replacesRouter?: true;
  /** Its function does not exist here, and its routers would be unsafe without it: they are not activated. */
  readonly isWeaker?: true;
}

type Translator = (node: SourceNode) => TranslatedMiddleware;

const NOTHING: TranslatedMiddleware = { parts: {} };

const TRANSLATORS: Readonly<Record<string, Translator>> = {
  stripPrefix,
  addPrefix,
  headers,
  rateLimit,
  inFlightReq,
  ipAllowList: ipList,
  ipWhiteList: ipList,
  retry,
  buffering,
};

/** Without these middlewares a router does no more than with them. */
const HARMLESS = ['headers', 'retry'];

interface Refusal {
  readonly reason: string;
  readonly nearest?: string;
  readonly effect?: 'replacesRouter' | 'isWeaker';
}

const REFUSED: Readonly<Record<string, Refusal>> = {
  basicAuth: {
    reason: 'callers have API keys, JWTs or certificates',
    nearest: '`auth` with API keys',
    effect: 'isWeaker',
  },
  digestAuth: {
    reason: 'callers have API keys, JWTs or certificates',
    nearest: '`auth` with API keys',
    effect: 'isWeaker',
  },
  forwardAuth: {
    reason: 'the gateway does not ask another server about requests',
    nearest: '`auth` with JWTs of an identity provider',
    effect: 'isWeaker',
  },
  stripPrefixRegex: { reason: 'a prefix cannot be a pattern', nearest: '`backend_path`', effect: 'isWeaker' },
  replacePath: { reason: 'endpoints define the paths', nearest: '`backend_path`', effect: 'isWeaker' },
  replacePathRegex: { reason: 'endpoints define the paths', nearest: '`backend_path`', effect: 'isWeaker' },
  redirectScheme: {
    reason: 'redirects to HTTPS are a setting',
    nearest: 'GATEWAY_PROXY__HTTPS_REDIRECT_PORT',
    effect: 'replacesRouter',
  },
  redirectRegex: { reason: 'routes do not redirect', effect: 'replacesRouter' },
  circuitBreaker: { reason: 'a breaker counts failures', nearest: '`circuit_breaker` of the revision' },
  compress: { reason: 'bodies are passed on unchanged', nearest: 'compression by the backend' },
  errors: { reason: 'answers of backends are passed on unchanged' },
  passTLSClientCert: { reason: 'policies decide which backends get it', nearest: '`auth.mtls.forward`' },
  contentType: { reason: 'a content type is passed on unchanged' },
  grpcWeb: { reason: 'policies decide which calls are translated', nearest: '`grpc_web`' },
  plugin: { reason: 'plugins of another gateway do not run here', effect: 'isWeaker' },
};

export function translateMiddleware(node: SourceNode): TranslatedMiddleware {
  const [kind, ...more] = node.names;
  for (const other of more) node.lost('is a second kind in one middleware', undefined, other);
  if (kind === undefined) return NOTHING;
  const translate = Object.hasOwn(TRANSLATORS, kind) ? TRANSLATORS[kind] : undefined;
  const config = translate && node.child(kind);
  if (translate !== undefined && config !== undefined) {
    const made = translate(config);
    const isUncertain = more.length > 0 || (!HARMLESS.includes(kind) && config.hasUnread);
    return isUncertain ? { ...made, isWeaker: true } : made;
  }
  const refusal = Object.hasOwn(REFUSED, kind) ? REFUSED[kind] : undefined;
  if (refusal === undefined) {
    node.lost(`is the middleware ${kind}, which has no counterpart`);
    return { ...NOTHING, isWeaker: true };
  }
  node.lost(`is the middleware ${kind}: ${refusal.reason}`, refusal.nearest);
  if (more.length > 0) return { ...NOTHING, isWeaker: true };
  if (refusal.effect === undefined) return NOTHING;
  return refusal.effect === 'isWeaker' ? { parts: {}, isWeaker: true } : { parts: {}, replacesRouter: true };
}

function headers(node: SourceNode): TranslatedMiddleware {
  const parts = headersOf(node);
  const { ledger, pointer } = node;
  // Backends may rely on a field that no client can set.
  const isUnread = ledger.hasUnread(`${pointer}/customRequestHeaders`);
  const asksForHosts = node.has('allowedHosts') && !node.isEmpty('allowedHosts');
  if (asksForHosts) node.lost('routes are served under the hosts of the app', '`hosts`', 'allowedHosts');
  return isUnread || asksForHosts ? { parts, isWeaker: true } : { parts };
}

function stripPrefix(node: SourceNode): TranslatedMiddleware {
  if (node.boolean('forceSlash') === false)
    node.changed('is true here: a path is never empty', undefined, 'forceSlash');
  const prefixes = node.texts('prefixes') ?? [];
  const strip = prefixes.flatMap(({ text, node: item }) => {
    const segments = literalSegments(text);
    if (segments === undefined) {
      item.lost('is not a path that a request can have here');
      return [];
    }
    return [segments.at(-1) === '' ? segments.slice(0, -1) : segments];
  });
  if (strip.length < prefixes.length) return { parts: {}, strip, isWeaker: true };
  return { parts: {}, strip };
}

function addPrefix(node: SourceNode): TranslatedMiddleware {
  const prefix = node.text('prefix');
  const segments = prefix === undefined ? undefined : literalSegments(prefix);
  if (segments !== undefined)
    return { parts: {}, prefix: `/${segments.filter((part) => part !== '').join('/')}` };
  node.lost('is not a path that a backend can have here');
  return { ...NOTHING, isWeaker: true };
}

function rateLimit(node: SourceNode): TranslatedMiddleware {
  const average = node.number('average') ?? 0;
  const periodMs = durationMs(node, 'period') ?? 1_000;
  const burst = node.number('burst') ?? 1;
  const per = perOf(node, 'ip');
  if (average === 0) {
    node.changed('has an average of 0, which is not a limit');
    return NOTHING;
  }
  // Windows have whole seconds here.
  const seconds = Math.max(1, Math.round(periodMs / 1_000));
  const requests = Math.round((average * seconds * 1_000) / periodMs);
  if (!Number.isSafeInteger(requests) || requests < 1 || !Number.isInteger(burst) || burst < 1) {
    node.lost('is not a number of requests that a limit can have');
    return { ...NOTHING, isWeaker: true };
  }
  const limit = { enabled: true, requests, window_seconds: seconds, algorithm: 'token_bucket', burst };
  return { parts: { rate_limit: { ...limit, ...(per !== 'scope' && { per }) } } };
}

function inFlightReq(node: SourceNode): TranslatedMiddleware {
  const amount = node.number('amount');
  const per = perOf(node, 'scope');
  if (amount === undefined || !Number.isInteger(amount) || amount < 1) {
    node.lost('has no amount of requests');
    return { ...NOTHING, isWeaker: true };
  }
  return { parts: { concurrency: { max: amount, ...(per !== 'scope' && { per }) } } };
}

function perOf(node: SourceNode, fallback: string): string {
  const source = node.child('sourceCriterion');
  if (source === undefined) return fallback;
  const header = source.text('requestHeaderName');
  if (header !== undefined) return `header:${header}`;
  if (source.boolean('requestHost') === true) {
    source.changed('is everything under the limit together', undefined, 'requestHost');
    return 'scope';
  }
  if (source.has('ipStrategy'))
    source.lost('chooses the address of the client', 'GATEWAY_TRUSTED_PROXY_IPS', 'ipStrategy');
  return 'ip';
}

function ipList(node: SourceNode): TranslatedMiddleware {
  const allow = (node.texts('sourceRange') ?? []).flatMap((item) => blockOf(item) ?? []);
  if (node.has('ipStrategy'))
    node.lost('chooses the address of the client', 'GATEWAY_TRUSTED_PROXY_IPS', 'ipStrategy');
  const status = node.number('rejectStatusCode');
  if (status !== undefined && status !== 403) node.changed('is 403 here', undefined, 'rejectStatusCode');
  if (allow.length === 0) {
    node.lost('has no address that can be read');
    return { ...NOTHING, isWeaker: true };
  }
  const access = { ip_access: { allow: [...new Set(allow)] } };
  // The list may contain another address: that of the proxy in front instead of the client's.
  return node.has('ipStrategy') ? { parts: access, isWeaker: true } : { parts: access };
}

const RETRIES_MAX = 5;

function retry(node: SourceNode): TranslatedMiddleware {
  const attempts = node.number('attempts') ?? 1;
  if (node.has('initialInterval')) node.lost('the next attempt starts at once', undefined, 'initialInterval');
  const max = Math.min(RETRIES_MAX, Math.max(0, Math.round(attempts) - 1));
  if (max !== attempts - 1) node.changed(`is ${max} further attempts here`, undefined, 'attempts');
  return { parts: { retries: { max } } };
}

function buffering(node: SourceNode): TranslatedMiddleware {
  const bytes = node.number('maxRequestBodyBytes');
  node.noEffect('bodies are streamed', 'memRequestBodyBytes', 'memResponseBodyBytes');
  if (node.has('maxResponseBodyBytes'))
    node.lost('bodies of responses are streamed', undefined, 'maxResponseBodyBytes');
  if (node.has('retryExpression'))
    node.lost('retries follow from the method and the failure here', '`retries`', 'retryExpression');
  if (bytes === undefined || bytes === 0) return NOTHING;
  if (Number.isSafeInteger(bytes) && bytes > 0) return { parts: { max_body_bytes: bytes } };
  node.lost('is not a size', undefined, 'maxRequestBodyBytes');
  return { ...NOTHING, isWeaker: true };
}
