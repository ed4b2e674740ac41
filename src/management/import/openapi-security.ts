/**
 * Converts an operation's `security` to `auth` and `required_scopes` of a policy. Headgate authenticates in one way per
 * route, so it takes the first alternative that it supports and notes the others.
 */
import { CERTIFICATE_NAME_PATTERN } from '../../model/patterns.ts';
import type { OpenApiDescription, SecurityRequirement, SecurityScheme } from './openapi-document.ts';

interface ImportedPolicy {
  readonly auth: {
    readonly auth_type: 'api_key' | 'jwt' | 'mtls' | 'none';
    readonly required?: false;
    readonly in?: string;
    readonly mtls?: { readonly ca: string };
  };
  readonly required_scopes?: readonly string[];
}

export interface SecurityResult {
  /** undefined when the description requires nothing from callers here. */
  readonly policy: ImportedPolicy | undefined;
  readonly note: string | undefined;
}

const NAMED_MAX = 5;
const NAME_CHARS_MAX = 64;
const CERTIFICATE_NAME = new RegExp(CERTIFICATE_NAME_PATTERN);

/** @param own the value of the operation itself; undefined: the value of the document applies */
export function securityOf(
  own: readonly SecurityRequirement[] | undefined,
  { security, schemes }: OpenApiDescription,
): SecurityResult {
  const alternatives = own ?? security;
  if (alternatives === undefined) return { policy: undefined, note: undefined };
  if (alternatives.length === 0) return { policy: { auth: { auth_type: 'none' } }, note: undefined };
  const isOptional = alternatives.some((requirement) => Object.keys(requirement).length === 0);
  const asked = alternatives.filter((requirement) => Object.keys(requirement).length > 0);
  const usable = asked.flatMap((requirement) => policyOf(requirement, schemes) ?? []);
  const [first] = usable;
  if (first === undefined) {
    if (asked.length === 0) return { policy: { auth: { auth_type: 'none' } }, note: undefined };
    const names = namesOf(asked);
    return {
      policy: undefined,
      note: `the security ${names} cannot be carried over, because a route uses one API key or JWT in a header, or a client certificate; no policy was set`,
    };
  }
  const policy = isOptional ? { ...first, auth: { ...first.auth, required: false as const } } : first;
  const others = asked.length - 1;
  const notes = [
    ...(others > 0 ? [`the first supported one of ${asked.length} ways to authenticate was used`] : []),
    ...(policy.auth.mtls === undefined ? [] : [trustNote(policy.auth.mtls.ca)]),
  ];
  return { policy, note: notes.length === 0 ? undefined : notes.join('; ') };
}

/** Short, because it is repeated for each operation. */
function namesOf(requirements: readonly SecurityRequirement[]): string {
  const names = requirements.slice(0, NAMED_MAX).map((requirement) => {
    const schemes = Object.keys(requirement);
    const shown = schemes.slice(0, NAMED_MAX).map((name) => name.slice(0, NAME_CHARS_MAX));
    return [...shown, ...(schemes.length > NAMED_MAX ? ['others'] : [])].join(' and ');
  });
  return [...names, ...(requirements.length > NAMED_MAX ? ['others'] : [])].join(' or ');
}

function policyOf(
  requirement: SecurityRequirement,
  schemes: ReadonlyMap<string, SecurityScheme>,
): ImportedPolicy | undefined {
  const [entry, ...more] = Object.entries(requirement);
  // With several schemes at once, one of them would be left to the backend unnoticed.
  if (entry === undefined || more.length > 0) return undefined;
  const [name, scopes] = entry;
  const scheme = schemes.get(name);
  const auth = scheme && authOf(scheme, name);
  if (auth === undefined) return undefined;
  return { auth, ...(scopes.length > 0 && { required_scopes: [...new Set(scopes)] }) };
}

/** A description does not say whose certificates are trusted. */
const trustNote = (name: string): string =>
  `client certificates are verified with the file ${name}.crt in the folder of GATEWAY_PROXY__CLIENT_CAS, which you create`;

/** The name of a scheme as the name of a file. */
function trustName(scheme: string): string {
  const name = scheme.replaceAll(/[^A-Za-z0-9._-]/g, '-').slice(0, NAME_CHARS_MAX);
  return CERTIFICATE_NAME.test(name) ? name : 'clients';
}

function authOf(scheme: SecurityScheme, name: string): ImportedPolicy['auth'] | undefined {
  switch (scheme.type) {
    case 'apiKey':
      if (scheme.in !== 'header' || scheme.name === '') return undefined;
      return scheme.name.toLowerCase() === 'authorization'
        ? { auth_type: 'api_key' }
        : { auth_type: 'api_key', in: scheme.name };
    case 'oauth2':
    case 'openIdConnect':
      return { auth_type: 'jwt' };
    case 'mutualTLS':
      return { auth_type: 'mtls', mtls: { ca: trustName(name) } };
    case 'http':
      if (scheme.scheme !== 'bearer') return undefined;
      return { auth_type: /jwt/i.test(scheme.bearerFormat) ? 'jwt' : 'api_key' };
    default:
      return undefined;
  }
}
