/**
 * Generations of a configuration: every write of a service changes all that an exchange shows of it at once, namely
 * the base path, whether the gateway path is stripped, the scope asked for, whether the key is passed on, the CORS
 * fields and the limit. An exchange must show one generation in all of them; any other combination is a mix.
 */
import type { Fields } from '../traffic.ts';
import { fieldOf, type LeanResponse } from '../clients/lean-client.ts';

/** Scopes take turns: a key with one of them is let in by every fourth generation. */
export const SCOPES = ['s0', 's1', 's2', 's3'] as const;
/** What one generation more adds to; far from what any test sends. */
const LIMIT_BASE = 1_000_000;
export const ORIGIN = 'https://page.test';

export interface GenerationRequest {
  readonly slug: string;
  /** Scope that the key holds; undefined: all of them. */
  readonly scope: string | undefined;
}

const scopeOf = (generation: number): string => SCOPES[generation % SCOPES.length] ?? '';
const strips = (generation: number): boolean => generation % 2 === 0;
const forwards = (generation: number): boolean => generation % 3 === 0;

/** The parts of a policy that show the generation. */
export function generationPolicy(generation: number): Fields {
  return {
    auth: { auth_type: 'api_key', forward_credentials: forwards(generation) },
    required_scopes: [scopeOf(generation)],
    rate_limit: { enabled: true, requests: LIMIT_BASE + generation, window_seconds: 3600 },
    cors: { allowed_origins: [ORIGIN], expose_headers: [`X-Generation-${generation}`] },
  };
}

/** The fields of a revision that show the generation; `default_policy` is to be added, here or at the app. */
export function generationBackend(generation: number): Fields {
  return { backend_base_path: `/b${generation}`, strip_gateway_path: strips(generation) };
}

/** What the backend says of a request: its path, and whether a credential came along. */
export function backendAnswer(head: string): string {
  const path = head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/'));
  return `${path} ${fieldOf(head, 'authorization') === undefined ? 'without' : 'with'}`;
}

export type Verdict = { readonly generation: number } | { readonly problem: string };

/**
 * The one generation that an exchange shows, or what is wrong with it.
 * @param inApp the policy is the app's, and the backend has no generation: it says `/fixed`
 */
export function judge({ slug, scope }: GenerationRequest, response: LeanResponse, inApp = false): Verdict {
  const shown = /X-Generation-(\d+)/.exec(fieldOf(response.head, 'access-control-expose-headers') ?? '')?.[1];
  if (shown === undefined) return problem(response, 'no generation in the CORS fields');
  const generation = Number(shown);
  const admitted = scope === undefined || scope === scopeOf(generation);
  if (response.status === 403 && !admitted) return { generation };
  if (response.status !== 200) return problem(response, `the status, in generation ${generation}`);
  if (!admitted) return problem(response, `admitted without the scope of generation ${generation}`);
  const limit = Number(fieldOf(response.head, 'x-ratelimit-limit')) - LIMIT_BASE;
  if (limit !== generation) return problem(response, `the limit of generation ${limit} in ${generation}`);
  const base = inApp ? '/fixed' : `/b${generation}${strips(generation) ? '' : `/${slug}/v1`}`;
  const expected = `${base}/x ${forwards(generation) ? 'with' : 'without'}`;
  if (response.body !== expected) return problem(response, `"${response.body}" in place of "${expected}"`);
  return { generation };
}

function problem({ status, head }: LeanResponse, what: string): Verdict {
  return { problem: `${what}; status ${status}, ${JSON.stringify(head)}` };
}

/** The text of a request for a generation. */
export function generationRequest({ slug }: GenerationRequest, token: string): string {
  return `GET /${slug}/v1/x HTTP/1.1\r\nHost: gateway.test\r\nOrigin: ${ORIGIN}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}
