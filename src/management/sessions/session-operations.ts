/** Signing in and out with a browser, and the list of sessions; sessions.ts has what a session is. */
import type { CheckToken } from '../access/admin-auth.ts';
import { answer, emptyAnswer, fail, isFailure, listAnswer, notFound } from '../api/failure.ts';
import type { Answer, Failure } from '../api/failure.ts';
import { API_PREFIX, type Call, type Operation } from '../api/operation.ts';
import { NO_QUERY, PAGE_QUERY, pageInfo, pageRequest } from '../api/query.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import type { FoundSession } from '../../model/resources.ts';
import { envelopeSchema, listSchema } from '../schemas/envelope.ts';
import { actorOf } from './session-auth.ts';
import { clearCookie, presentedSession, setCookie, type CookieStyle } from './session-cookie.ts';
import { crossSiteFailure } from './cross-site.ts';
import {
  CurrentSessionSchema,
  SessionSchema,
  SignedInSchema,
  SignInOptionsSchema,
  SignInSchema,
} from './session-schemas.ts';
import type { OidcSettings } from './oidc/oidc-client.ts';
import { OIDC_START_PATH, type OidcRoutesDependencies } from './oidc/oidc-routes.ts';
import type { Identity, Sessions, SignInOrigin, StartedSession } from './sessions.ts';

export interface SignInAccess {
  readonly sessions: Sessions;
  readonly checkToken: CheckToken;
  readonly cookie: CookieStyle;
  readonly oidc: OidcSettings | undefined;
  /** Failed sign-ins that one address may have per minute; 0: unlimited. */
  readonly failuresPerMinute: number;
  readonly refused: OidcRoutesDependencies['refused'];
}

const SIGN_IN_BYTES_MAX = 4_096;
const SESSION_PATH = `${API_PREFIX}/session`;

export function sessionOperations(access: SignInAccess): Operation[] {
  return [
    signInOptions(access),
    signIn(access),
    currentSession(),
    signOut(access),
    listSessions(access),
    revokeSession(access),
  ];
}

const common = { tag: 'Sessions', query: NO_QUERY, entityTag: false, failures: [] } as const;

function signInOptions(access: SignInAccess): Operation {
  return {
    ...common,
    method: 'GET',
    path: `${API_PREFIX}/sign-in`,
    operationId: 'getSignInOptions',
    summary: 'Ways to sign in, and whether the browser is signed in',
    access: 'public',
    failures: ['storage_unavailable'],
    success: {
      status: 200,
      description: 'The ways to sign in',
      schema: jsonSchema(envelopeSchema('SignInOptionsEnvelope', SignInOptionsSchema)),
    },
    handle: async ({ headers, address }) => {
      const { oidc, sessions, cookie } = access;
      const presented = presentedSession(headers.cookie, cookie);
      const hasValue = typeof presented === 'object' && 'value' in presented;
      const isSignedIn = hasValue && !isFailure(await sessions.find(presented.value, address));
      const provider = oidc === undefined ? null : { name: oidc.name, start_url: OIDC_START_PATH };
      return answer(200, 'Ways to sign in', { signed_in: isSignedIn, token: true, oidc: provider });
    },
  };
}

function signIn(access: SignInAccess): Operation {
  return {
    ...common,
    method: 'POST',
    path: SESSION_PATH,
    operationId: 'signIn',
    summary: 'Sign in a browser with an admin token',
    description:
      'The answer sets the cookie of the session, with a new value each time. If the call contains the cookie of an earlier session, that session ends. Wrong tokens are slowed down like those in `Authorization`.',
    access: 'public',
    body: { schema: jsonSchema(SignInSchema), required: true, mergePatch: false, example: EXAMPLE_SIGN_IN },
    bodyBytesMax: SIGN_IN_BYTES_MAX,
    success: {
      status: 201,
      description: 'Signed in; `Set-Cookie` contains the session',
      schema: jsonSchema(envelopeSchema('SignedInEnvelope', SignedInSchema)),
    },
    failures: [
      'unauthenticated',
      'cross_site_request',
      'too_many_auth_failures',
      'too_many_sessions',
      'storage_unavailable',
    ],
    handle: async (call) => {
      const { sessions, checkToken, cookie } = access;
      const foreign = crossSiteFailure(call.headers);
      if (foreign !== undefined) return foreign;
      const admin = await checkToken((call.body as { readonly token: string }).token, call);
      if (isFailure(admin)) return admin;
      const isEnvironment = admin.id === 'environment';
      const identity: Identity = {
        kind: isEnvironment ? 'environment' : 'token',
        actor_id: admin.id,
        actor_name: admin.name,
        admin_token_id: isEnvironment ? null : admin.id,
        groups: null,
        expires_at: admin.expiresAt,
      };
      const started = await sessions.start(identity, admin.role, signInOrigin(call, identity, cookie));
      return isFailure(started) ? started : signedIn(started, cookie);
    },
  };
}

const EXAMPLE_SIGN_IN = { token: 'hga_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmFAbCdEf' };

function signInOrigin(call: Call, { actor_id: id }: Identity, cookie: CookieStyle): SignInOrigin {
  const presented = presentedSession(call.headers.cookie, cookie);
  const previous = typeof presented === 'object' && 'value' in presented ? presented.value : undefined;
  const { address, requestId } = call;
  return { actor: { id }, address, requestId, userAgent: call.headers['user-agent'], previous };
}

function signedIn(started: StartedSession, cookie: CookieStyle): Answer {
  const { name, role, id, session } = actorOf(started, started.value);
  const body = {
    actor: { id, name, role },
    csrf_token: session?.csrfToken,
    created_at: session?.createdAt,
    expires_at: session?.expiresAt,
    idle_expires_at: session?.idleExpiresAt,
  };
  const cookies = [setCookie(cookie, started.value, { sameSite: 'Strict' })];
  return { ...answer(201, 'Signed in', body, { Location: SESSION_PATH }), cookies };
}

function currentSession(): Operation {
  return {
    ...common,
    method: 'GET',
    path: SESSION_PATH,
    operationId: 'getCurrentSession',
    summary: 'The session of this call',
    description: 'A call with a bearer token has no session; the answer then only says who makes the call.',
    access: 'viewer',
    success: {
      status: 200,
      description: 'Who makes the call',
      schema: jsonSchema(envelopeSchema('CurrentSessionEnvelope', CurrentSessionSchema)),
    },
    handle: async ({ actor: { id, name, role, session } }) =>
      answer(200, 'Signed in', {
        id: session?.id ?? null,
        via: session === undefined ? 'token' : 'session',
        actor: { id, name, role },
        csrf_token: session?.csrfToken ?? null,
        created_at: session?.createdAt ?? null,
        expires_at: session?.expiresAt ?? null,
        idle_expires_at: session?.idleExpiresAt ?? null,
      }),
  };
}

function signOut(access: SignInAccess): Operation {
  return {
    ...common,
    method: 'DELETE',
    path: SESSION_PATH,
    operationId: 'signOut',
    summary: 'Sign out this browser',
    access: 'viewer',
    success: { status: 204, description: 'Signed out; `Set-Cookie` removes the cookie' },
    failures: ['not_found'],
    handle: async (call) => {
      const { session } = call.actor;
      if (session === undefined) {
        return fail('not_found', 'There is no session, because the call has a bearer token');
      }
      await access.sessions.end(call, 'session.sign_out', session.id, () => true);
      return signedOut(access.cookie);
    },
  };
}

const signedOut = (cookie: CookieStyle): Answer => ({
  ...emptyAnswer(204),
  cookies: [clearCookie(cookie, 'Strict')],
});

function listSessions(access: SignInAccess): Operation {
  return {
    ...common,
    method: 'GET',
    path: `${API_PREFIX}/sessions`,
    operationId: 'listSessions',
    summary: 'List the browsers that are signed in',
    description: 'Admins see all sessions, others only those of their own token or account.',
    access: 'viewer',
    query: PAGE_QUERY,
    success: {
      status: 200,
      description: 'A page of sessions',
      schema: jsonSchema(listSchema('SessionList', SessionSchema)),
    },
    handle: async ({ query, actor }): Promise<Answer | Failure> => {
      const request = pageRequest(query);
      if (isFailure(request)) return request;
      const { sessions } = access;
      const page = await sessions.list(request, actor.role === 'admin' ? undefined : actor.id);
      const items = page.items.map((session) => present(session, sessions, actor.session?.id));
      return listAnswer('Sessions listed', items, pageInfo(page, request.limit));
    },
  };
}

function present(session: FoundSession, sessions: Sessions, currentId: string | undefined): object {
  const { role, lastUsedAt, idleExpiresAt } = sessions.shown(session);
  return {
    id: session.id,
    actor: { id: session.actor_id, name: session.actor_name, role },
    address: session.address,
    user_agent: session.user_agent,
    created_at: session.created_at,
    last_used_at: lastUsedAt,
    expires_at: session.expires_at,
    idle_expires_at: idleExpiresAt,
    current: session.id === currentId,
  };
}

function revokeSession(access: SignInAccess): Operation {
  return {
    ...common,
    method: 'DELETE',
    path: `${API_PREFIX}/sessions/{session_id}`,
    operationId: 'revokeSession',
    summary: 'End a session',
    description:
      'The next call of the session is refused, on every gateway. Admins can end every session, others only their own.',
    access: 'viewer',
    success: { status: 204, description: 'Ended' },
    handle: async (call) => {
      const { actor } = call;
      const id = call.params['session_id'] ?? '';
      const mayEnd = (session: { readonly actor_id: string }): boolean =>
        actor.role === 'admin' || session.actor_id === actor.id;
      const isOwn = actor.session?.id === id;
      if (!(await access.sessions.end(call, 'session.revoke', id, mayEnd))) return notFound('session', id);
      return isOwn ? signedOut(access.cookie) : emptyAnswer(204);
    },
  };
}
