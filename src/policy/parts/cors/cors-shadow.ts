/**
 * `cors` in shadow mode: the route answers as if it had no `cors` part (preflights and CORS fields are left to the
 * backend), and this stage records each request that a browser would have prevented, or whose response it would have
 * withheld from the page, if the policy had been in force.
 *
 * Reads the policy's own header lines like a browser (Fetch standard, "CORS check" and "CORS-preflight fetch"), so
 * that it cannot disagree with what the policy would send. A browser first sends a preflight and then the request;
 * both are checked, since a backend may answer the first itself. Requests that are not subject to CORS are ignored:
 * without `Origin`, from the gateway's own origin, navigations, WebSockets.
 *
 * It cannot see fields that the page sets itself, other than Authorization and Content-Type, unless a preflight
 * names them.
 */
import type { ReasonKind } from '../../../model/reason.ts';
import type { CompiledCors, Evaluation, NamedStage, RequestFacts } from '../../stage.ts';

/** Fetch standard, "CORS-safelisted method" and "CORS-safelisted request-header". */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST']);
const SAFE_TYPES: ReadonlySet<string> = new Set([
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/plain',
]);
const NAMES_CHARS_MAX = 4096;

/** What a browser would refuse, and the field of the policy that would have to allow it. */
export interface CorsRefusal {
  readonly field: 'allowed_origins' | 'allowed_methods' | 'allowed_headers' | 'allow_credentials';
  /** The values that the field lacks; empty when no value could be added. */
  readonly lacks: readonly string[];
}

export const CORS_REFUSED: ReasonKind<CorsRefusal, 'cors_refused'> = {
  code: 'cors_refused',
  detail: ({ field, lacks: [first = ''] }) => {
    switch (field) {
      case 'allow_credentials':
        return 'Credentials are not allowed, and the request has a cookie';
      case 'allowed_origins':
        return `The origin ${shown(first)} is not allowed`;
      case 'allowed_methods':
        return `The method ${shown(first)} is not allowed`;
      case 'allowed_headers':
        return first === ''
          ? 'Too many header fields are requested'
          : `The header field ${shown(first)} is not allowed`;
    }
  },
};

export function corsShadowStage(cors: CompiledCors): NamedStage {
  const run = (facts: RequestFacts, evaluation: Evaluation): undefined => {
    const refused = refusal(cors, facts);
    if (refused === undefined) return undefined;
    const denial = { kind: CORS_REFUSED, data: refused };
    (evaluation.shadowDenials ??= []).push({ part: 'cors', denial });
    return undefined;
  };
  return { part: 'cors', run, shadow: true };
}

/** Why a browser would refuse; undefined when it would not, or is not asked. */
export function refusal(cors: CompiledCors, facts: RequestFacts): CorsRefusal | undefined {
  const origin = facts.header('origin');
  if (origin === undefined || !isSubjectToCors(facts, origin)) return undefined;
  const asked = facts.method === 'OPTIONS' ? facts.header('access-control-request-method') : undefined;
  if (asked !== undefined) {
    const names = facts.header('access-control-request-headers');
    return preflightRefusal(cors, origin, asked, names);
  }
  const fields = fieldsOf(cors.responseLines(origin));
  if (!grantsOrigin(fields, origin)) return originRefusal(origin);
  // Only requests with credentials send cookies to another origin.
  if (facts.header('cookie') !== undefined && !grantsCredentials(fields)) {
    return { field: 'allow_credentials', lacks: [] };
  }
  const names = unsafeNames(facts);
  if (SAFE_METHODS.has(facts.method) && names === '') return undefined;
  return preflightRefusal(cors, origin, facts.method, names === '' ? undefined : names);
}

function preflightRefusal(
  cors: CompiledCors,
  origin: string,
  method: string,
  names: string | undefined,
): CorsRefusal | undefined {
  const fields = fieldsOf(cors.preflightLines(origin, method, names));
  if (!grantsOrigin(fields, origin)) return originRefusal(origin);
  const methods = listOf(fields.get('access-control-allow-methods'));
  if (!SAFE_METHODS.has(method) && !methods.includes(method)) {
    return { field: 'allowed_methods', lacks: [method] };
  }
  if (names === undefined || names === '') return undefined;
  if (names.length > NAMES_CHARS_MAX) {
    return { field: 'allowed_headers', lacks: [] };
  }
  const allowed = new Set(listOf(fields.get('access-control-allow-headers')?.toLowerCase()));
  const lacks = listOf(names.toLowerCase()).filter((name) => !allowed.has(name));
  return lacks.length === 0 ? undefined : { field: 'allowed_headers', lacks };
}

function originRefusal(origin: string): CorsRefusal {
  return { field: 'allowed_origins', lacks: [origin] };
}

function isSubjectToCors(facts: RequestFacts, origin: string): boolean {
  const mode = facts.header('sec-fetch-mode');
  if (mode !== undefined && mode !== 'cors') return false;
  if (facts.header('sec-fetch-site') === 'same-origin') return false;
  // The scheme is left out: in front of the gateway, TLS may have ended already.
  const host = facts.header('host');
  return host === undefined || origin.slice(origin.indexOf('://') + 3).toLowerCase() !== host.toLowerCase();
}

/** The fields of a request that a page can only send after a preflight, as a preflight names them. */
function unsafeNames(facts: RequestFacts): string {
  const names: string[] = [];
  if (facts.header('authorization') !== undefined) names.push('authorization');
  const type = facts.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== undefined && !SAFE_TYPES.has(type)) names.push('content-type');
  return names.join(',');
}

const grantsOrigin = (fields: ReadonlyMap<string, string>, origin: string): boolean => {
  const granted = fields.get('access-control-allow-origin');
  return granted === '*' || granted === origin;
};

const grantsCredentials = (fields: ReadonlyMap<string, string>): boolean =>
  fields.get('access-control-allow-credentials') === 'true';

/** The header lines of the policy by lower-case name; it writes each name once. */
function fieldsOf(lines: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(': ');
    if (colon > 0) fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 2));
  }
  return fields;
}

function listOf(value: string | undefined): string[] {
  return value === undefined ? [] : value.split(',').map((item) => item.trim());
}

/** Text from a client, for a detail that people read. */
function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
