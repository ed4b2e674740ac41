/**
 * The reasons why the engine itself refuses or fails a request, outside the parts of the policy. Clients never learn
 * addresses of backends, labels of revisions, or endpoints that they did not request: those are in the access log and
 * explain, found by the request id.
 */
import { PLAIN_HTTP_SENTENCE } from '../lib/listeners.ts';
import type { HeadError, HeadErrorStatus } from '../http/heads/head-error.ts';
import type { ErrorCode } from '../model/errors.ts';
import { plainReason, type Reason, type ReasonKind } from '../model/reason.ts';
import type { OverloadReason } from './exchange-limiter.ts';
import type { MatchResult, PathRefusal } from './match.ts';

const OVERLOAD_RETRY_AFTER_SECS = 1;
const NO_TARGETS_RETRY_AFTER_SECS = 1;
const PATH_CHARS_MAX = 200;

/** What the parser reports about bytes that are not a request; the text is for people. */
const headKind = (code: ErrorCode): ReasonKind<HeadError> => ({ code, detail: ({ detail }) => detail });

const BAD_REQUEST = headKind('bad_request');
/** The parser's codes are finer than the public table; its text keeps the difference. */
const HEAD_KINDS: Partial<Readonly<Record<HeadErrorStatus, ReasonKind<HeadError>>>> = {
  408: headKind('request_timeout'),
  413: headKind('body_too_large'),
  414: headKind('target_too_long'),
  417: headKind('expectation_failed'),
  431: headKind('header_too_large'),
  501: headKind('not_implemented'),
  505: headKind('http_version_not_supported'),
};

/** The reason for a head or a body that cannot be parsed. */
export function malformed(error: HeadError): Reason<HeadError> {
  return { kind: HEAD_KINDS[error.status] ?? BAD_REQUEST, data: error };
}

export const BAD_MAX_FORWARDS = plainReason({
  code: 'bad_request',
  detail: () => 'Max-Forwards must be a single number',
});

export const HTTPS_WITHOUT_HOST = plainReason({
  code: 'bad_request',
  detail: () => 'Requests are served only over TLS, and this request has no host to redirect to',
});

/** Known before there is a request: it is in no log and no explanation. */
export const TLS_REQUIRED = plainReason({ code: 'bad_request', detail: () => PLAIN_HTTP_SENTENCE });

export const BODY_TOO_SLOW = plainReason({
  code: 'request_timeout',
  detail: () => 'The request body did not arrive in time',
});

/** The backend would reset the stream, which would look like its own failure. */
export const HEAD_OVER_BACKEND = plainReason({
  code: 'header_too_large',
  detail: () => 'The head of the request is longer than the HTTP/2 settings of the backend allow',
  sentence: () => 'The head of the request is too long',
});

export const NO_BASE64 = plainReason({
  code: 'bad_request',
  detail: () => 'The body is not Base64, although its content-type says so',
});

export const LOOP_DETECTED = plainReason({
  code: 'loop_detected',
  detail: () => 'The request has already passed through this gateway',
});

const MALFORMED_PATH: ReasonKind<HeadError> = { code: 'bad_path', detail: ({ detail }) => detail };

export function malformedPath(error: HeadError): Reason<HeadError> {
  return { kind: MALFORMED_PATH, data: error };
}

const PATH_SENTENCES: Readonly<Record<PathRefusal, string>> = {
  encoded_slash: 'The path must not contain %2F',
  encoded_slash_in_value: 'The path must not contain an encoded slash in the value of a path parameter',
  climbs_out: 'The path is ambiguous: a server that decodes it again could leave the path of this route',
  ambiguous: 'The path is ambiguous: a server could read it as another path',
};

/** The route or the app does not accept a canonical path. */
export const PATH_REFUSED: ReasonKind<{
  readonly refusal: PathRefusal;
  readonly app: string;
  /** Set with `ambiguous`: the route that a backend could read the path as. */
  readonly other: string;
}> = {
  code: 'bad_path',
  detail: ({ refusal, app, other }) => {
    if (refusal === 'encoded_slash') return encodedSlash(app);
    if (refusal === 'ambiguous') return `A backend could read the path as that of ${other}`;
    return PATH_SENTENCES[refusal];
  },
  sentence: ({ refusal, app }) => (refusal === 'encoded_slash' ? encodedSlash(app) : PATH_SENTENCES[refusal]),
};

const encodedSlash = (app: string): string =>
  `${PATH_SENTENCES.encoded_slash}, since ${app} does not allow it`;

interface Asked {
  readonly method: string;
  readonly path: string;
}

interface VersionName {
  readonly app: string;
  readonly version: string;
}

const NO_ROUTE: ReasonKind<Asked> = {
  code: 'no_route',
  detail: ({ path }) => `No gateway_path for this host is a prefix of ${shown(path)}`,
};

const ENDPOINT_NOT_FOUND: ReasonKind<Asked> = {
  code: 'endpoint_not_found',
  detail: ({ method, path }) => `No endpoint is registered for ${method} ${shown(path)}`,
};

const ENDPOINT_DISABLED: ReasonKind<{ readonly method: string; readonly template: string }> = {
  code: 'endpoint_disabled',
  detail: ({ method, template }) => `The endpoint ${method} ${template} is disabled`,
  sentence: () => 'This endpoint is disabled',
};

const VERSION_RETIRED: ReasonKind<VersionName> = {
  code: 'version_retired',
  detail: ({ app, version }) => `Version ${version} of ${app} is retired`,
  sentence: () => 'This version is retired',
};

const NO_REVISION: ReasonKind<VersionName & { readonly cause: 'none_current' | 'no_weight' }> = {
  code: 'no_revision',
  detail: ({ app, version, cause }) =>
    cause === 'none_current'
      ? `No revision of version ${version} of ${app} is current`
      : `All current revisions of version ${version} of ${app} have traffic_weight 0`,
  sentence: () => 'No backend serves this version at the moment',
};

export const CIRCUIT_OPEN: ReasonKind<{ readonly revision: string; readonly seconds: number }> = {
  code: 'circuit_open',
  detail: ({ revision }) => `Revision ${revision} is failing`,
  sentence: () => 'The backend is failing; requests are refused for a while',
  retryAfterSecs: ({ seconds }) => seconds,
};

export const NO_TARGETS: ReasonKind<{ readonly revision: string; readonly source: string }> = {
  code: 'no_targets',
  detail: ({ revision, source }) => `Discovery (${source}) has found no targets of revision ${revision} yet`,
  sentence: () => 'The addresses of the backend are not known yet',
  retryAfterSecs: () => NO_TARGETS_RETRY_AFTER_SECS,
};

/**
 * Why no route serves the request. `circuit_open` is reported by `CIRCUIT_OPEN`: breakers are asked after the policy.
 */
export function unmatched<P>(
  { code, refusal, alike, version, route }: MatchResult<P>,
  method: string,
  path: string,
): Reason | undefined {
  const name = { app: version?.app.slug ?? '', version: version?.label ?? '' };
  switch (code) {
    case undefined:
    case 'circuit_open':
      return undefined;
    case 'no_route':
      return { kind: NO_ROUTE, data: { method, path } };
    case 'bad_path':
      return refusal && { kind: PATH_REFUSED, data: { refusal, app: name.app, other: alike } };
    case 'version_retired':
      return { kind: VERSION_RETIRED, data: name };
    case 'endpoint_not_found':
      return { kind: ENDPOINT_NOT_FOUND, data: { method, path } };
    case 'endpoint_disabled':
      return {
        kind: ENDPOINT_DISABLED,
        data: { method: route?.method ?? method, template: route?.template ?? path },
      };
    case 'no_revision': {
      const cause = version?.revisions.length === 0 ? 'none_current' : 'no_weight';
      return { kind: NO_REVISION, data: { ...name, cause } };
    }
  }
}

function shown(path: string): string {
  return path.length <= PATH_CHARS_MAX ? path : `${path.slice(0, PATH_CHARS_MAX)}…`;
}

/** The gateway has no room for the request. */
export const OVERLOADED: ReasonKind<{
  readonly full: OverloadReason;
  /** Set with `exchanges`: the value of the setting. */
  readonly max?: number;
  /** Set where a connection to a backend is missing. */
  readonly authority?: string;
}> = {
  code: 'overloaded',
  detail: ({ full, max, authority }) => {
    if (full === 'exchanges')
      return `As many requests are under way as max_concurrent_exchanges (${max}) allows`;
    if (full === 'exchanges_of_app')
      return `The app already has its share of max_concurrent_exchanges; the rest is reserved for other apps`;
    if (full === 'descriptors')
      return `The gateway has no file descriptor left for a connection to ${authority}; raise the limit (ulimit -n)`;
    return full === 'connections' || full === 'connections_per_ip'
      ? CONNECTION_SENTENCES[full]
      : `All connections to ${authority} are in use`;
  },
  sentence: ({ full }) =>
    full === 'connections' || full === 'connections_per_ip'
      ? CONNECTION_SENTENCES[full]
      : 'The gateway cannot take more requests at the moment',
  retryAfterSecs: () => OVERLOAD_RETRY_AFTER_SECS,
};

const CONNECTION_SENTENCES = {
  connections: 'Too many connections',
  connections_per_ip: 'There are too many connections from this address',
} as const;

const internal = (detail: string): Reason =>
  plainReason({
    code: 'internal_error',
    detail: () => detail,
    sentence: () => 'The gateway could not handle the request',
  });

export const INTERNAL_ERROR = internal('The request could not be handled');
export const POLICY_TIMEOUT = internal('The policy of the route could not be evaluated in time');
