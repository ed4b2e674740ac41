/** Calls the management API: typed by its own document, with the session's cookie and its CSRF token. */
import { shellWords } from '../text/shell.ts';
import { ApiError, GatewayUnreachable } from './api-error.ts';
import type { NoFields, Operations } from './schema.ts';
import {
  announceSessionEnd,
  announceUnreachable,
  connectionState,
  csrfToken,
  startSession,
  type Role,
} from './session-state.ts';

export type OperationName = keyof Operations;
type PathOf<Name extends OperationName> = NoFields extends Operations[Name]['path']
  ? { readonly path?: never }
  : { readonly path: Operations[Name]['path'] };
type BodyOf<Name extends OperationName> = Operations[Name]['body'] extends undefined
  ? { readonly body?: never }
  : { readonly body: Operations[Name]['body'] };

export type CallOptions<Name extends OperationName> = PathOf<Name> &
  BodyOf<Name> & {
    readonly query?: Operations[Name]['query'] | undefined;
    /** ETag of the record to change: the call is refused with 412 when the record has changed since. */
    readonly ifMatch?: string | undefined;
    /** Why, for the history of the configuration. */
    readonly message?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  };

/** The options of any call; `call` narrows them by the name of the operation. */
export interface AnyCallOptions {
  readonly path?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly message?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer<Result> {
  readonly status: number;
  readonly body: Result;
  readonly etag: string | undefined;
  /** The answer comes from a copy because the database is away. */
  readonly isStale: boolean;
}

const BASE = '/api/v1';
const SAFE = new Set(['GET', 'HEAD']);

/**
 * @throws ApiError when the API refuses
 * @throws GatewayUnreachable when there is no answer
 */
export function call<Name extends OperationName>(
  name: Name,
  options: CallOptions<Name>,
): Promise<Answer<Operations[Name]['result']>> {
  return callByName(name, options);
}

/**
 * The same for an operation whose name is only known at run time.
 * @param name such as `PATCH /apps/{app_id}`
 */
export async function callByName<Result>(name: string, options: AnyCallOptions): Promise<Answer<Result>> {
  try {
    return await callOnce(name, options);
  } catch (error) {
    // Another tab of the browser has signed in since: nothing was done yet, and it may well be the same person.
    if (!isOfOtherSession(error) || !(await isSamePerson())) throw error;
    return callOnce(name, options);
  }
}

/** The browser has another session than the page has begun with. */
export function isOfOtherSession(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'csrf_token_invalid';
}

/** Goes on with the session that the browser has now. @returns whether it is of the same person in the same role */
async function isSamePerson(): Promise<boolean> {
  const { session: before } = connectionState();
  await readSession();
  const { session: now } = connectionState();
  return before !== undefined && now?.id === before.id && now.role === before.role;
}

interface CurrentSession {
  readonly data: {
    readonly actor: { readonly id: string; readonly name: string; readonly role: Role };
    readonly csrf_token: string | null;
  };
}

/** Who is signed in, and the CSRF token of the session, from now on. */
export async function readSession(): Promise<void> {
  const { body } = await callOnce<CurrentSession>('GET /session', {});
  const { actor, csrf_token: csrf } = body.data;
  startSession(csrf ?? '', { id: actor.id, name: actor.name, role: actor.role });
}

async function callOnce<Result>(name: string, options: AnyCallOptions): Promise<Answer<Result>> {
  // A browser would take these as parts of a path, and so call another operation.
  if (Object.values(options.path ?? {}).some((text) => text === '.' || text === '..'))
    throw new ApiError(404, { code: 'not_found', detail: shellWords.notFound });
  const asked = csrfToken();
  const { response, text } = await send(name, options);
  const body = readJson(text);
  if (!response.ok) {
    if (response.status === 401) announceSessionEnd(asked);
    throw new ApiError(response.status, body ?? {});
  }
  return {
    status: response.status,
    body: body as Result,
    etag: response.headers.get('etag') ?? undefined,
    isStale: response.headers.get('headgate-stale') === 'true',
  };
}

/** The path and query of a call, for links and for the same call elsewhere. */
export function urlOf(name: string, options: Pick<AnyCallOptions, 'path' | 'query'>): string {
  const template = name.slice(name.indexOf(' ') + 1);
  const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) =>
    encodeURIComponent(options.path?.[field] ?? ''),
  );
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(options.query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') query.append(key, String(one));
    }
  }
  const search = query.toString();
  return `${BASE}${path}${search === '' ? '' : `?${search}`}`;
}

/** With the whole body: an answer that breaks off is none. */
async function send(
  name: string,
  options: AnyCallOptions,
): Promise<{ readonly response: Response; readonly text: string }> {
  const method = name.slice(0, name.indexOf(' '));
  const headers = new Headers({ Accept: 'application/json' });
  if (!SAFE.has(method)) {
    headers.set('X-CSRF-Token', csrfToken());
    headers.set('Headgate-Source', 'console');
  }
  const { body, ifMatch, message, signal } = options;
  if (body !== undefined) {
    headers.set('Content-Type', method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  }
  if (ifMatch !== undefined) headers.set('If-Match', ifMatch);
  if (message !== undefined && message !== '') headers.set('Headgate-Message', encodeURIComponent(message));
  try {
    const response = await fetch(urlOf(name, options), {
      method,
      headers,
      credentials: 'same-origin',
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    const text = await response.text();
    announceUnreachable(false);
    return { response, text };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    announceUnreachable(true);
    throw new GatewayUnreachable(error);
  }
}

function readJson(text: string): object | undefined {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
