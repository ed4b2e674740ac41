/** Signing in a browser: what a client sends, and what it learns of its session and of others. */
import { Type } from 'typebox';
import { ADMIN_TOKEN_PATTERN } from '../../model/patterns.ts';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { id } from '../schemas/common.ts';

const role = oneOf(['admin', 'editor', 'viewer'], {
  description: 'Role of the calls, as for admin tokens.',
});
const actorId = Type.String({
  description: 'Id of the admin token, `environment`, or `oidc:` and the subject at the OpenID provider.',
});
const actorName = Type.String({ description: 'Name of the admin token, or of the person at the provider.' });
const createdAt = dateTime('When the browser signed in.');
const expiresAt = dateTime('When the session ends, even if it is used.');
const idleExpiresAt = dateTime('When the session ends unless it is used again.');

const ActorSchema = Type.Object({ id: actorId, name: actorName, role }, { ...closed, title: 'SessionActor' });
const csrfToken = Type.String({
  description: 'Calls that may change something must send this value as `X-CSRF-Token` with the cookie.',
});

export const SignInSchema = Type.Object(
  {
    token: Type.String({
      pattern: ADMIN_TOKEN_PATTERN,
      description: 'GATEWAY_ADMIN_TOKEN or a stored admin token.',
    }),
  },
  { ...closed, title: 'SignIn' },
);

export const SignedInSchema = Type.Object(
  {
    actor: ActorSchema,
    csrf_token: csrfToken,
    created_at: createdAt,
    expires_at: expiresAt,
    idle_expires_at: idleExpiresAt,
  },
  { ...closed, title: 'SignedIn' },
);

export const CurrentSessionSchema = Type.Object(
  {
    id: nullable(id('Id of the session. null: the call has a token.')),
    via: oneOf(['session', 'token'], {
      description: 'Credential of the call: the cookie of a session, or a bearer token.',
    }),
    actor: ActorSchema,
    csrf_token: nullable(csrfToken),
    created_at: nullable(createdAt),
    expires_at: nullable(expiresAt),
    idle_expires_at: nullable(idleExpiresAt),
  },
  { ...closed, title: 'CurrentSession', description: 'The times and the CSRF token are null for a token.' },
);

export const SessionSchema = Type.Object(
  {
    id: id('Id of the session, a UUIDv7.'),
    actor: Type.Object(
      {
        id: actorId,
        name: actorName,
        role: Type.Union([...role.anyOf, Type.Null()], {
          description:
            'Role of its calls. null: the session has ended, because its token or the settings have changed.',
        }),
      },
      { ...closed, title: 'ListedSessionActor' },
    ),
    address: Type.String({ description: 'Address of the client at the sign-in.' }),
    user_agent: nullable(Type.String({ description: 'Its `User-Agent`, shortened.' })),
    created_at: createdAt,
    last_used_at: dateTime('Last call of the session, accurate to about a minute.'),
    expires_at: expiresAt,
    idle_expires_at: idleExpiresAt,
    current: Type.Boolean({ description: 'Whether this call was made in this session.' }),
  },
  { ...closed, title: 'Session' },
);

export const SignInOptionsSchema = Type.Object(
  {
    signed_in: Type.Boolean({
      description:
        'Whether the cookie of the call belongs to a session in force, which `GET /session` then describes.',
    }),
    token: Type.Literal(true, { description: 'An admin token can be used to sign in.' }),
    oidc: nullable(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the provider, for a button.' }),
          start_url: Type.String({
            description: 'URL that a browser opens to sign in; it accepts `return_to`.',
          }),
        },
        { ...closed, title: 'OpenIdSignIn', description: 'null: there is no OpenID provider.' },
      ),
    ),
  },
  { ...closed, title: 'SignInOptions' },
);
