/**
 * The first app as the form has it: what is proposed, what is wrong with it, and the calls that make it. Pure.
 */
import { ApiError } from '../../api/api-error.ts';
import type { Transaction } from '../../api/schema.ts';
import { startWords } from '../../text/start.ts';

export type Callers = 'api_key' | 'none';

export interface Draft {
  readonly name: string;
  /** As typed; empty: proposed from the name. */
  readonly slug: string;
  /** As typed; empty: proposed from the slug. */
  readonly path: string;
  readonly backend: string;
  readonly callers: Callers;
  /** Requests per minute, as typed; empty: no limit. */
  readonly limit: string;
}

type DraftField = keyof Draft;
export type DraftProblems = Partial<Record<DraftField, string>>;

export const EMPTY_DRAFT: Draft = {
  name: '',
  slug: '',
  path: '',
  backend: '',
  callers: 'api_key',
  limit: '',
};

export const FIRST_VERSION = 'v1';
export const FIRST_REVISION = 'r1';
const SLUG_LENGTH_MAX = 63;
const SLUG = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const LIMIT_WINDOW_SECS = 60;

export interface Backend {
  readonly backend_scheme: 'http' | 'https';
  readonly backend_host: string;
  /** Absent: a Unix socket. */
  readonly backend_port?: number;
  readonly backend_base_path?: string;
}

/** `Größe & Co` becomes `grosse-co`: letters without their marks, and dashes for the rest. */
export function proposedSlug(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_LENGTH_MAX)
    .replaceAll(/^-+|-+$/g, '');
}

export function slugOf({ name, slug }: Draft): string {
  return slug.trim() === '' ? proposedSlug(name) : slug.trim();
}

export function pathOf(draft: Draft): string {
  return draft.path.trim() === '' ? `/${slugOf(draft)}` : draft.path.trim();
}

/** The path of the first version. */
export function servedPath(draft: Draft): string {
  return `${pathOf(draft).replace(/\/$/, '')}/${FIRST_VERSION}/`;
}

/** `localhost:3000` is taken as people mean it, with http. */
export function parseBackend(text: string): Backend | { readonly problem: string } {
  const { problems } = startWords;
  const typed = text.trim();
  if (typed === '') return { problem: problems.noUrl };
  // The parser of URLs would leave out white space and turn backslashes.
  if (/[\s\\]/.test(typed)) return { problem: problems.notUrl(typed) };
  const socket = /^(?:(https?):\/\/)?(unix:\/.+)$/i.exec(typed);
  if (socket !== null) return socketBackend(socket);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(typed)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'http' && scheme !== 'https') {
    return { problem: problems.scheme(scheme) };
  }
  const full = scheme === undefined ? `http://${typed}` : typed;
  const port = /^[a-z]+:\/\/(?:[^/?#]*@)?(?:\[[^\]]*\]|[^/?#:]*):([^/?#]*)/i.exec(full)?.[1];
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
    return { problem: problems.port };
  }
  if (!URL.canParse(full)) return { problem: problems.notUrl(typed) };
  const url = new URL(full);
  if (url.username !== '' || url.password !== '') return { problem: problems.credentials };
  if (/[?#]/.test(typed)) return { problem: problems.query };
  const secure = url.protocol === 'https:';
  const base = url.pathname.replace(/\/+$/, '');
  return {
    backend_scheme: secure ? 'https' : 'http',
    backend_host: url.hostname.replaceAll(/^\[|\]$/g, ''),
    backend_port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    ...(base !== '' && { backend_base_path: base }),
  };
}

/** The fields for `unix:/run/orders.sock`, also with the scheme that the console shows before it. */
function socketBackend([, scheme = 'http', host = '']: RegExpExecArray): Backend {
  return { backend_scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http', backend_host: host };
}

export function problemsOf(draft: Draft): DraftProblems {
  const { problems } = startWords;
  const backend = parseBackend(draft.backend);
  const path = pathOf(draft);
  return {
    ...(draft.name.trim() === '' && { name: problems.name }),
    // Without a name there is nothing to propose, and one message is enough.
    ...(draft.name.trim() !== '' && !SLUG.test(slugOf(draft)) && { slug: problems.slug }),
    ...((!path.startsWith('/') || (path.length > 1 && path.endsWith('/'))) && { path: problems.path }),
    ...('problem' in backend && { backend: backend.problem }),
    ...(limitOf(draft) === 'wrong' && { limit: problems.limit }),
  };
}

function limitOf({ limit }: Draft): number | 'none' | 'wrong' {
  const text = limit.trim();
  if (text === '') return 'none';
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 'wrong';
}

/** App, version, revision and key, all of them or none. */
export function transactionOf(draft: Draft): Transaction {
  const backend = parseBackend(draft.backend);
  if ('problem' in backend) throw new Error(`Cannot make an app: ${backend.problem}`);
  const limit = limitOf(draft);
  const isKeyed = draft.callers === 'api_key';
  return {
    operations: [
      {
        id: 'app',
        method: 'POST',
        path: '/api/v1/apps',
        body: {
          name: draft.name.trim(),
          slug: slugOf(draft),
          gateway_path: pathOf(draft),
          default_policy: {
            auth: { auth_type: draft.callers },
            ...(typeof limit === 'number' && {
              rate_limit: {
                enabled: true,
                requests: limit,
                window_seconds: LIMIT_WINDOW_SECS,
                per: isKeyed ? 'api_key' : 'ip',
              },
            }),
          },
        },
      },
      {
        id: 'version',
        method: 'POST',
        path: '/api/v1/apps/${app.id}/versions',
        body: { version: FIRST_VERSION },
      },
      {
        id: 'revision',
        method: 'POST',
        path: '/api/v1/apps/${app.id}/versions/${version.id}/revisions',
        body: { revision: FIRST_REVISION, ...backend, is_current: true },
      },
      ...(isKeyed ? [FIRST_KEY] : []),
    ],
  };
}

const FIRST_KEY = {
  id: 'key',
  method: 'POST',
  path: '/api/v1/apps/${app.id}/tokens',
  body: { name: 'first key' },
} as const;

const FIELD_OF: readonly (readonly [string, DraftField])[] = [
  ['/operations/0/body/name', 'name'],
  ['/operations/0/body/slug', 'slug'],
  ['/operations/0/body/gateway_path', 'path'],
  ['/operations/0/body/default_policy/rate_limit', 'limit'],
  ['/operations/0/body/default_policy/auth', 'callers'],
  ['/operations/1', 'path'],
  ['/operations/2/body/backend_', 'backend'],
];

/** The API's messages at the fields that they are about; undefined when one is about none of them. */
export function problemsFrom(error: unknown): DraftProblems | undefined {
  if (!(error instanceof ApiError) || error.fields.length === 0) return undefined;
  const found: DraftProblems = {};
  for (const { pointer, detail } of error.fields) {
    const field = FIELD_OF.find(([start]) => pointer.startsWith(start))?.[1];
    if (field === undefined) return undefined;
    found[field] ??= sentence(detail);
  }
  return found;
}

/** Messages of the API continue after the name of the field. */
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The value of the key that the transaction has created; no later answer contains it. */
export function madeKey(
  operations: readonly { readonly id: string | null; readonly body: unknown }[],
): string {
  const body = operations.find(({ id }) => id === 'key')?.body as
    | { readonly data?: { readonly token?: string } }
    | null
    | undefined;
  return body?.data?.token ?? '';
}
