/** Signing in a browser: what a client sends, and what it learns of its session and of others. */
import { Type } from 'typebox';
import { ADMIN_TOKEN_PATTERN } from '../../model/patterns.ts';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { id } from '../schemas/common.ts';

const role = oneOf(['admin', 'editor', 'viewer'], {
  description: 'What calls may do, as for admin tokens.',
});
const actorId = Type.String({
  description: 'Id of the admin token, `environment`, or `oidc:` and the subject at the OpenID provider.',
});
const actorName = Type.String({ description: 'Name of the admin token, or of the person at the provider.' });
const createdAt = dateTime('When the browser signed in.');
const expiresAt = dateTime('When the session ends, whatever the browser does.');
const idleExpiresAt = dateTime('When the session ends unless it is used before.');

const ActorSchema = Type.Object({ id: actorId, name: actorName, role }, { ...closed, title: 'SessionActor' });
const csrfToken = Type.String({
  description: 'Calls that may change something send it as `X-CSRF-Token` with the cookie.',
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
      description: 'What the call was authenticated with: the cookie of a session, or a bearer token.',
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
            'What its calls may do. null: it has ended, since its token or the settings have changed.',
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
        'Whether the cookie that came with the call is that of a session in force, so that `GET /session` tells of it.',
    }),
    token: Type.Literal(true, { description: 'An admin token signs in.' }),
    oidc: nullable(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the provider, for a button.' }),
          start_url: Type.String({ description: 'Where a browser goes to sign in; takes `return_to`.' }),
        },
        { ...closed, title: 'OpenIdSignIn', description: 'null: there is no OpenID provider.' },
      ),
    ),
  },
  { ...closed, title: 'SignInOptions' },
);
