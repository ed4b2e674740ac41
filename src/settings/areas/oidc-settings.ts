/** Settings of the console's sign-in with an OpenID provider. */
import { list, text, url, type Parsed, type Setting } from '../settings-values.ts';

const scope = (value: string): Parsed<string> =>
  /^[!#-[\]-~]+$/.test(value) ? { value } : { expected: 'scopes, separated by commas' };
const roleOfGroup = (value: string): Parsed<string> =>
  /^.{1,256}=(?:admin|editor|viewer)$/.test(value)
    ? { value }
    : { expected: 'group=role, separated by commas, each role admin, editor or viewer' };

export const OIDC_SETTINGS = {
  GATEWAY_OIDC__ISSUER: url(['https:', 'http:'], {
    default: undefined,
    description:
      'Issuer of the OpenID provider with which people sign in to the console. Needs `GATEWAY_OIDC__CLIENT_ID` and `GATEWAY_OIDC__CLIENT_SECRET`.',
  }),
  GATEWAY_OIDC__CLIENT_ID: text('text', {
    default: undefined,
    description: 'Id of Headgate as a client of the provider.',
  }),
  GATEWAY_OIDC__CLIENT_SECRET: text('text', {
    default: undefined,
    secret: true,
    description: 'Secret of that client.',
    pattern: /^[\x20-\x7e]{1,512}$/,
    expected: '1 to 512 visible ASCII characters',
  }),
  GATEWAY_OIDC__NAME: text('text', {
    default: 'OpenID Connect',
    description: 'Name of the provider on the button to sign in.',
  }),
  GATEWAY_OIDC__REDIRECT_URL: url(['https:', 'http:'], {
    default: undefined,
    defaultText: '`/api/v1/session/oidc/callback` of the host that the browser asked for',
    description: 'URL to which the provider sends browsers back, as it is registered there.',
  }),
  GATEWAY_OIDC__SCOPES: list('scopes, comma-separated', scope, {
    default: ['openid', 'profile', 'email'],
    description: 'Scopes to ask the provider for. `openid` must be one of them.',
  }),
  GATEWAY_OIDC__GROUPS_CLAIM: text('text', {
    default: 'groups',
    description: 'Claim with the groups of a person, in the ID token or at the UserInfo endpoint.',
  }),
  GATEWAY_OIDC__ROLES: list('group=role, comma-separated', roleOfGroup, {
    default: [],
    defaultText: 'none',
    description:
      'Roles of groups, such as `platform=admin,developers=viewer`. The highest role of a person counts; people in none of the groups are refused.',
  }),
} as const satisfies Record<string, Setting<unknown>>;
