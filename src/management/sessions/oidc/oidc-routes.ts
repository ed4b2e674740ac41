/**
 * The two addresses that a browser visits to sign in with an OpenID provider. They are links for browsers, not
 * operations of the API: `GET /api/v1/sign-in` names the first. The cookie of the session is `SameSite=Strict`, and
 * browsers do not send such cookies along redirects from another site; so the second answers with a page of this origin
 * that leads on.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SIGN_IN_COOKIE } from '../../../http/fields/console-cookies.ts';
import { newBudget, withBudget } from '../../../lib/deadline-budget.ts';
import type { Clock } from '../../../lib/clock.ts';
import { fail, isFailure, type Failure } from '../../api/failure.ts';
import { API_PREFIX } from '../../api/operation.ts';
import { sendFailure } from '../../api/send.ts';
import { clearCookie, cookieStyle, cookieValues, presentedSession, setCookie } from '../session-cookie.ts';
import type { CookieStyle } from '../session-cookie.ts';
import type { Identity, Sessions, SignInOrigin } from '../sessions.ts';
import { CallbackGuard } from './callback-guard.ts';
import { FLOW_SECS, openFlow, sealFlow } from './flow-cookie.ts';
import { groupsWithRole, OidcClient, roleOfGroups, type OidcSettings, type Person } from './oidc-client.ts';
import { onwardPage, returnPath } from './return-path.ts';

export const OIDC_START_PATH = `${API_PREFIX}/session/oidc/start`;
const CALLBACK_PATH = `${API_PREFIX}/session/oidc/callback`;
const SUBJECT_CHARS_MAX = 255;

export interface OidcRoutesDependencies {
  readonly settings: OidcSettings;
  readonly sessions: Sessions;
  readonly cookie: CookieStyle;
  readonly clock: Clock;
  /** Failed sign-ins that one address may have per minute; 0: unlimited. */
  readonly failuresPerMinute: number;
  readonly addressOf: (request: FastifyRequest) => string;
  /** Whether the browser uses TLS, also with a proxy in front. */
  readonly isSecure: (request: FastifyRequest) => boolean;
  /** Puts refused sign-ins into the log and the audit log. */
  readonly refused: { note(signIn: RefusedSignIn): void };
}

interface RefusedSignIn {
  readonly address: string;
  readonly requestId: string;
  readonly reason: string;
  readonly subject?: string;
}

export function addOidcRoutes(server: FastifyInstance, dependencies: OidcRoutesDependencies): void {
  const { settings, clock, cookie } = dependencies;
  const client = new OidcClient(settings, clock);
  const guard = new CallbackGuard(dependencies.failuresPerMinute, clock);
  const flowCookie = cookieStyle(SIGN_IN_COOKIE, cookie.isSecure);
  const note = (request: FastifyRequest, { failure, detail }: Failure): void => {
    // Trouble with the provider says nothing about the person.
    if (failure !== 'sign_in_failed') return;
    const address = dependencies.addressOf(request);
    dependencies.refused.note({ address, requestId: request.id, reason: detail });
  };
  server.get(OIDC_START_PATH, async (request, reply) => {
    const { return_to: asked = '/' } = request.query as Readonly<Record<string, unknown>>;
    const returnTo = typeof asked === 'string' ? returnPath(asked) : undefined;
    if (returnTo === undefined) {
      const detail = 'The query parameter "return_to" must be a path of this origin, such as /apps';
      return refuse(request, reply, fail('invalid_query', detail));
    }
    try {
      const { url, flow } = await client.start(redirectUri(request, dependencies), returnTo);
      const sealed = sealFlow(flow, settings.clientSecret);
      reply.header('Set-Cookie', setCookie(flowCookie, sealed, { sameSite: 'Lax', maxAgeSecs: FLOW_SECS }));
      return await reply.header('Cache-Control', 'no-store').redirect(url, 302);
    } catch (error) {
      return refuse(request, reply, providerFailed(request, error));
    }
  });
  server.get(CALLBACK_PATH, async (request, reply) => {
    reply.header('Set-Cookie', clearCookie(flowCookie, 'Lax'));
    const [sealed, ...others] = cookieValues(request.headers.cookie, flowCookie);
    const flow =
      sealed === undefined || others.length > 0
        ? undefined
        : openFlow(sealed, settings.clientSecret, clock.nowMs());
    if (flow === undefined) {
      const detail = 'This browser has not started the sign-in, or has started it too long ago; start again';
      return refuse(request, reply, fail('sign_in_failed', detail));
    }
    const own = redirectUri(request, dependencies);
    if (!URL.canParse(own)) return refuse(request, reply, fail('bad_request', 'Host is not a valid host'));
    const url = new URL(own);
    url.search = request.url.split('?').slice(1).join('?');
    if (url.searchParams.get('state') !== flow.state) {
      const failure = fail('sign_in_failed', 'The answer belongs to another sign-in; start again');
      note(request, failure);
      // The sign-in of the cookie, in another tab of the browser, may still come to its end.
      return refuse(request, reply.removeHeader('Set-Cookie'), failure);
    }
    const refusal = url.searchParams.get('error');
    if (refusal !== null) {
      const shown = JSON.stringify(refusal.slice(0, 64));
      const failure = fail('sign_in_failed', `The provider refused the sign-in: ${shown}`);
      note(request, failure);
      return refuse(request, reply, failure);
    }
    const person = await guard.run(flow, dependencies.addressOf(request), () =>
      client.finish(url, flow).catch((error: unknown) => providerFailed(request, error)),
    );
    if (isFailure(person)) {
      note(request, person);
      return refuse(request, reply, person);
    }
    return enter(request, reply, person, flow.returnTo, dependencies);
  });
}

async function enter(
  request: FastifyRequest,
  reply: FastifyReply,
  { subject, name, groups }: Person,
  returnTo: string,
  { settings, sessions, cookie, addressOf, refused }: OidcRoutesDependencies,
): Promise<FastifyReply> {
  const mapped = groupsWithRole(settings, groups);
  const role = roleOfGroups(settings, mapped);
  if (role === undefined || subject.length > SUBJECT_CHARS_MAX) {
    const detail = 'You are not in a group that has a role here; see GATEWAY_OIDC__ROLES';
    refused.note({
      address: addressOf(request),
      requestId: request.id,
      reason: `The account is not in a group that has a role here (GATEWAY_OIDC__ROLES): ${groupsText(settings, groups)}`,
      subject: subject.slice(0, SUBJECT_CHARS_MAX),
    });
    return refuse(request, reply, fail('sign_in_forbidden', detail));
  }
  const identity: Identity = {
    kind: 'oidc',
    actor_id: `oidc:${subject}`,
    actor_name: name,
    admin_token_id: null,
    groups: mapped,
    expires_at: null,
  };
  const presented = presentedSession(request.headers.cookie, cookie);
  const origin: SignInOrigin = {
    actor: { id: identity.actor_id },
    address: addressOf(request),
    requestId: request.id,
    userAgent: request.headers['user-agent'],
    previous: typeof presented === 'object' && 'value' in presented ? presented.value : undefined,
  };
  const started = await withBudget(newBudget(), () => sessions.start(identity, role, origin));
  if (isFailure(started)) return refuse(request, reply, started);
  // In addition to the field that clears the cookie of the flow.
  return reply
    .header('Set-Cookie', setCookie(cookie, started.value, { sameSite: 'Strict' }))
    .header('Cache-Control', 'no-store')
    .header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'; base-uri 'none'")
    .header('Referrer-Policy', 'no-referrer')
    .type('text/html; charset=utf-8')
    .send(onwardPage(returnTo));
}

const GROUPS_SHOWN_MAX = 10;
const GROUP_CHARS_SHOWN_MAX = 64;

/** For operators: what the provider says of the account. */
function groupsText({ groupsClaim }: OidcSettings, groups: readonly string[]): string {
  if (groups.length === 0) return `the claim "${groupsClaim}" names no group`;
  const shown = groups.slice(0, GROUPS_SHOWN_MAX);
  const names = shown.map((group) => JSON.stringify(group.slice(0, GROUP_CHARS_SHOWN_MAX))).join(', ');
  const more = groups.length - shown.length;
  return `the claim "${groupsClaim}" names ${names}${more > 0 ? ` and ${more} more` : ''}`;
}

function redirectUri(
  request: FastifyRequest,
  { settings, isSecure }: Pick<OidcRoutesDependencies, 'settings' | 'isSecure'>,
): string {
  const scheme = isSecure(request) ? 'https' : 'http';
  return settings.redirectUrl ?? `${scheme}://${request.headers.host ?? ''}${CALLBACK_PATH}`;
}

/** A person is sent back to the form, which has a text for the code; a program gets the problem document. */
function refuse(request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply {
  if (!isNavigation(request)) return sendFailure(request, reply, failure);
  const { failure: code, detail } = failure;
  request.log.info({ code, detail }, 'sign-in with the OpenID provider refused');
  return reply.header('Cache-Control', 'no-store').redirect(`/?sign_in=${code}`, 303);
}

/** Whether the call opens a page: by Sec-Fetch-Mode when the origin is secure, otherwise by Accept. */
function isNavigation({ headers }: FastifyRequest): boolean {
  return headers['sec-fetch-mode'] === 'navigate' || headers.accept?.includes('text/html') === true;
}

/** The log has the details: texts of providers are not shown to browsers. */
function providerFailed(request: FastifyRequest, error: unknown): Failure {
  request.log.warn({ err: error }, 'sign-in with the OpenID provider failed');
  return fail('identity_provider_failed', 'The OpenID provider did not answer as expected; see the log');
}
