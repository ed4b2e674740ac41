/**
 * The one change that would let a denied request pass, by error code: what to change, where, and to what, in the
 * words of the management API where the operator can mend it. It is the smallest change that the denial itself
 * asks for; what would deny the request after it is told by explaining the changed request.
 */
import { comparablePath } from '../http/canonical-path.ts';
import { isValidCors } from '../policy/parts/cors/part.ts';
import type { AuthPolicy } from '../policy/parts/auth/schema.ts';
import type { CorsPolicy } from '../policy/parts/cors/schema.ts';
import { typedPolicy, type PartName } from '../policy/registry.ts';
import type { StoredApiKey } from '../model/resources.ts';
import type { Fix, FixAction } from './schema.ts';
import { CORS_REFUSED, type CorsRefusal } from '../policy/parts/cors/cors-shadow.ts';
import { CREDENTIALS_INVALID, INSUFFICIENT_SCOPE } from '../policy/parts/auth/auth-reasons.ts';
import { isKind, operatorDetail, retryAfterSecs } from '../model/reason.ts';
import { PATH_REFUSED } from '../proxy/reasons.ts';
import { parseEndpointPath, parseGatewayPath } from '../config/path-patterns.ts';
import type { ExchangeFacts } from './facts.ts';

export type FindKey = (tokenHash: string) => StoredApiKey | undefined;
type Target = NonNullable<Fix['target']>;

const ENDPOINT_METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** @returns null when nothing is to be mended, or nobody outside of the gateway can mend it */
export function fixOf(facts: ExchangeFacts, findKey: FindKey): Fix | null {
  switch (facts.code) {
    case undefined:
      return facts.corsRefusal === undefined ? null : widenCors(facts, facts.corsRefusal);
    case 'bad_request':
    case 'expectation_failed':
    case 'not_implemented':
    case 'http_version_not_supported':
    case 'request_timeout':
      return fix('correct_request', `Send the request in another form. ${detailOf(facts)}`);
    case 'target_too_long':
    case 'header_too_large':
      return fix('shorten_request', `Send less. ${detailOf(facts)}`);
    case 'bad_path':
      return fixPath(facts);
    case 'no_route':
      return createVersion(facts);
    case 'version_retired':
    case 'endpoint_not_found':
    case 'endpoint_disabled':
    case 'no_revision':
      return fixRoute(facts);
    case 'credentials_missing':
    case 'credentials_invalid':
    case 'jwt_keys_unavailable':
    case 'insufficient_scope':
    case 'missing_claim':
      return fixCredentials(facts, findKey);
    case 'method_not_allowed':
    case 'concurrency_limited':
    case 'body_too_large':
      return fixPolicy(facts);
    case 'rate_limited':
    case 'too_many_auth_failures':
    case 'circuit_open':
    case 'overloaded':
      return wait(facts);
    case 'upstream_connect_failed':
    case 'upstream_reset':
    case 'upstream_bad_response':
    case 'upstream_timeout':
    case 'upstream_denied':
      return fix('fix_backend', `See to the backend ${facts.backend}. ${detailOf(facts)}`, ofRevision(facts));
    default:
      return null;
  }
}

function fix(action: FixAction, detail: string, target: Target | null = null, value: unknown = null): Fix {
  return { action, detail, target, value };
}

const detailOf = ({ reason }: ExchangeFacts): string => (reason === undefined ? '' : operatorDetail(reason));

const ofRevision = ({ revision }: ExchangeFacts): Target | null =>
  revision === null ? null : { type: 'revision', id: revision.id };

function fixPath(facts: ExchangeFacts): Fix {
  const { app, reason } = facts;
  if (app === null || !isKind(reason, PATH_REFUSED) || reason.data.refusal !== 'encoded_slash') {
    return fix('correct_path', `Send another path. ${detailOf(facts)}`);
  }
  const target = { type: 'app', id: app.id } as const;
  return fix('allow_encoded_slashes', `Set allow_encoded_slashes of app ${app.slug} to true`, target, {
    allow_encoded_slashes: true,
  });
}

/** The widest path that would hold the request; the operator will know a better one. */
function createVersion({ path }: ExchangeFacts): Fix {
  const prefix = comparablePath(`/${path.split('/')[1] ?? ''}`);
  const isUsable = 'path' in parseGatewayPath(prefix);
  const example = isUsable ? `, for example ${prefix},` : '';
  const detail = `Create a version with a gateway_path that ${path} is below${example} or correct the path`;
  return fix('create_version', detail, null, isUsable ? { gateway_path: prefix } : null);
}

function fixRoute(facts: ExchangeFacts): Fix | null {
  const { version, endpoint } = facts;
  if (version === null) return null;
  const ofVersion = { type: 'version', id: version.id } as const;
  if (facts.code === 'version_retired') {
    const detail = `Set the status of version ${version.version} to active, or call another version`;
    return fix('set_version_status', detail, ofVersion, { status: 'active' });
  }
  if (facts.code === 'endpoint_disabled' && endpoint !== null) {
    const detail = `Set is_active of endpoint ${endpoint.method} ${endpoint.path} to true`;
    return fix('enable_endpoint', detail, { type: 'endpoint', id: endpoint.id }, { is_active: true });
  }
  if (facts.code === 'no_revision') {
    const idle = facts.candidates[0];
    if (idle === undefined) {
      return fix('activate_revision', `Activate a revision of version ${version.version}`, ofVersion);
    }
    const detail = `Set traffic_weight of revision ${idle.revision} to more than 0`;
    return fix('set_traffic_weight', detail, { type: 'revision', id: idle.id }, { traffic_weight: 100 });
  }
  return registerEndpoint(facts);
}

function registerEndpoint({ matchedMethod, restPath, candidates }: ExchangeFacts): Fix {
  const served = matchedMethod === 'HEAD' ? 'GET' : matchedMethod;
  const method = ENDPOINT_METHODS.has(served) ? served : '*';
  const revision = candidates.find(({ traffic_weight: weight }) => weight > 0);
  const where = revision === undefined ? '' : ` under revision ${revision.revision}`;
  const target = revision === undefined ? null : ({ type: 'revision', id: revision.id } as const);
  // A star is a wildcard in the path of an endpoint: it would open more than was asked for.
  let parameters = 0;
  const path = restPath
    .split('/')
    .map((segment) => (segment.includes('*') ? `{part${++parameters}}` : segment))
    .join('/');
  const pattern = parseEndpointPath(path);
  if ('error' in pattern) {
    return fix('correct_path', `Send another path. No endpoint can have this one: ${pattern.error}`);
  }
  return fix('register_endpoint', `Register endpoint ${method} ${path}${where}`, target, { method, path });
}

function fixCredentials(facts: ExchangeFacts, findKey: FindKey): Fix {
  const { code, policy, app, reason } = facts;
  const detail = detailOf(facts);
  const auth = policy && typedPolicy(policy.effective).auth;
  const isJwt = auth?.auth_type === 'jwt';
  const what = isJwt ? 'a JWT' : `an API key of app ${app?.slug ?? ''}`;
  switch (code) {
    case 'credentials_missing':
      if (auth?.auth_type === 'none') {
        return setPolicy(facts, 'auth', 'Let the route authenticate, since it requires scopes', {
          auth: { auth_type: 'api_key' },
        });
      }
      return fix(
        'send_credentials',
        `Send ${policy?.credentialPlace?.name ?? 'Authorization: Bearer'} with ${what}${withScopes(facts)}`,
      );
    case 'insufficient_scope':
      return addScopes(facts, isJwt);
    case 'missing_claim':
      return fix('request_token', `Request a JWT with the claim that is missing. ${detail}`);
    default: {
      const lacksKeys =
        code === 'jwt_keys_unavailable' ||
        (isKind(reason, CREDENTIALS_INVALID) && reason.data.problem === 'no_keys');
      if (isJwt && lacksKeys) return fixKeys(facts, auth);
      const hash = facts.refusedTokenHash;
      const key = isJwt || hash === undefined ? undefined : findKey(hash);
      return (
        (key && fixKey(key, facts)) ?? fix('replace_credentials', `Send ${what} that is valid. ${detail}`)
      );
    }
  }
}

/** No token can be verified: another one would not help. */
function fixKeys(facts: ExchangeFacts, auth: AuthPolicy): Fix {
  const uri = auth.jwt?.jwks_uri;
  const what =
    uri === undefined
      ? 'Set keys with jwks_uri, jwks or secret in auth.jwt'
      : `See that ${uri} gives keys, or change auth.jwt`;
  return { ...setPolicy(facts, 'auth', what, {}), action: 'fix_keys', value: null };
}

function withScopes({ policy }: ExchangeFacts): string {
  const scopes = (policy && typedPolicy(policy.effective).required_scopes) ?? [];
  return scopes.length === 0 ? '' : ` that holds ${scopes.join(', ')}`;
}

/** For a key that is known and could be good; undefined for one of another app. */
function fixKey(key: StoredApiKey, { app, refusedTokenHash, startedMs }: ExchangeFacts): Fix | undefined {
  const target = { type: 'token', id: key.id } as const;
  if (key.app_id !== app?.id) return undefined;
  if (!key.is_active)
    return fix('enable_token', `Set is_active of token ${key.name} to true`, target, { is_active: true });
  if (key.expires_at !== null && Date.parse(key.expires_at) <= startedMs)
    return fix('extend_token', `Set expires_at of token ${key.name} to a later time, or to null`, target, {
      expires_at: null,
    });
  if (refusedTokenHash === key.previous_token_hash)
    return fix('replace_credentials', `Send the new value of token ${key.name}, which was rotated`, target);
  return undefined;
}

function addScopes(facts: ExchangeFacts, isJwt: boolean): Fix {
  const { caller } = facts.evaluation;
  const missing = isKind(facts.reason, INSUFFICIENT_SCOPE) ? facts.reason.data.missing : [];
  const detail = detailOf(facts);
  const names = missing.join(', ');
  if (isJwt) return fix('request_token', `Request a JWT with the scopes ${names}. ${detail}`, null, missing);
  const scopes = [...caller.scopes, ...missing];
  const target = { type: 'token', id: caller.id } as const;
  return fix('add_scopes', `Add scope ${names} to token ${caller.name}`, target, { scopes });
}

function fixPolicy(facts: ExchangeFacts): Fix {
  const { code, policy, bodyBytes, maxBodyBytes, method } = facts;
  const parts = policy && typedPolicy(policy.effective);
  if (code === 'method_not_allowed') {
    const allowed = [...(parts?.allowed_methods ?? []), method];
    return setPolicy(facts, 'allowed_methods', `Add ${method} to allowed_methods`, {
      allowed_methods: allowed,
    });
  }
  if (code === 'concurrency_limited') {
    const { max = 0, ...rest } = parts?.concurrency ?? {};
    return setPolicy(facts, 'concurrency', 'Wait until a request has ended, or raise max of concurrency', {
      concurrency: { ...rest, max: max + 1 },
    });
  }
  if (policy !== undefined && policy.maxBodyBytes > 0) {
    return setPolicy(
      facts,
      'max_body_bytes',
      `Send at most ${policy.maxBodyBytes} bytes, or raise max_body_bytes`,
      {
        max_body_bytes: bodyBytes,
      },
    );
  }
  const setting = { type: 'setting', id: 'GATEWAY_PROXY__MAX_BODY_BYTES' } as const;
  if (facts.version === null) return fix('shorten_request', `Send less. ${detailOf(facts)}`);
  return fix(
    'shorten_request',
    `Send at most ${maxBodyBytes} bytes, or raise ${setting.id}`,
    setting,
    bodyBytes,
  );
}

/** A change of the part at the level that has it now. */
function setPolicy(
  facts: ExchangeFacts,
  part: PartName,
  what: string,
  value: object,
  policy: ExchangeFacts['policy'] = facts.policy,
): Fix {
  const { app, endpoint, candidates } = facts;
  const source = policy?.effective.sources[part];
  const level = source?.level;
  const isRecord = level === 'app' || level === 'revision' || level === 'endpoint';
  const name =
    level === 'endpoint'
      ? ` of endpoint ${endpoint?.method ?? ''} ${endpoint?.path ?? ''}`
      : level === 'revision'
        ? ` of revision ${candidates.find(({ id }) => id === source?.id)?.revision ?? ''}`
        : ` of app ${app?.slug ?? ''}`;
  return fix('set_policy', what + name, isRecord ? { type: level, id: source?.id ?? '' } : null, value);
}

/** What a browser refuses, granted where the policy can grant it; `value` is null where the request has to change. */
function widenCors(facts: ExchangeFacts, refusal: CorsRefusal): Fix {
  const { field, lacks } = refusal;
  const cors = facts.corsPolicy && typedPolicy(facts.corsPolicy.effective).cors;
  const wider = cors ? widened(cors, field, lacks) : undefined;
  if (wider === undefined)
    return fix('correct_request', `Send another request. ${CORS_REFUSED.detail(refusal)}`);
  const what =
    field === 'allow_credentials'
      ? 'Set cors.allow_credentials to true, for the policy'
      : `Add ${lacks.join(', ')} to cors.${field}`;
  return setPolicy(facts, 'cors', what, { cors: wider }, facts.corsPolicy);
}

/** @returns undefined where no such policy is to be had */
function widened(
  cors: CorsPolicy,
  field: CorsRefusal['field'],
  lacks: readonly string[],
): CorsPolicy | undefined {
  const wider: CorsPolicy =
    field === 'allow_credentials'
      ? { ...cors, allow_credentials: true }
      : { ...cors, [field]: [...(cors[field] ?? []), ...lacks] };
  // Names of methods are granted in upper case only.
  const isGrantable =
    field === 'allow_credentials' || (lacks.length > 0 && lacks.every((item) => item !== ''));
  const isUpperCase = field !== 'allowed_methods' || lacks.every((method) => method === method.toUpperCase());
  return isGrantable && isUpperCase && isValidCors(wider) ? wider : undefined;
}

function wait(facts: ExchangeFacts): Fix {
  const secs = (facts.reason && retryAfterSecs(facts.reason)) ?? 1;
  if (facts.code !== 'circuit_open') return fix('wait', `Wait ${secs} s`, null, secs);
  const what = facts.hasProbe
    ? `Let the backend ${facts.backend} answer its health check`
    : `Wait ${secs} s for a trial request, and see that the backend ${facts.backend} answers`;
  return fix('wait', what, ofRevision(facts), secs);
}
