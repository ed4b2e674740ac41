/**
 * With `HEADGATE_TEST_TARGETS=3`, every revision that a test gives one backend on loopback gets three targets, which
 * all lead to that backend: the same tests show that several targets change nothing else (`npm run test:targets`).
 */
import type { Revision, Target } from '../../src/model/resources.ts';

const SWITCH = 'HEADGATE_TEST_TARGETS';
const COUNT = Number(process.env[SWITCH] ?? '1');

/** Spellings of one address; the gateway knows them as different places. */
const PLACES = ['127.0.0.1', '::ffff:127.0.0.1', '::ffff:7f00:1'];

export const hasSeveralTargets = COUNT > 1;
/** Places that are asked for the health of one backend. */
export const PLACES_OF_EACH = hasSeveralTargets ? COUNT : 1;

/** The body of a management call, with the targets where it has a backend. */
export function withTargets(method: string, path: string, body: unknown): unknown {
  if (!hasSeveralTargets || typeof body !== 'object' || body === null) return body;
  const isRevision =
    (method === 'POST' && /\/revisions(?:\?|$)/.test(path)) ||
    (method === 'PATCH' && /\/revisions\/[^/]+$/.test(path));
  const fields = body as Readonly<Record<string, unknown>>;
  const { backend_host: host = method === 'PATCH' ? PLACES[0] : undefined, backend_port: port } = fields;
  const isPlain = host === PLACES[0] && typeof port === 'number' && fields['targets'] === undefined;
  if (!isRevision || !isPlain || fields['backend_scheme'] === 'https') return body;
  return { ...fields, targets: PLACES.slice(0, COUNT).map((place) => ({ host: place, port })) };
}

/** The targets of a record that leads to one backend; undefined: it stays as it is. */
export function targetsFor({
  backend_scheme: scheme,
  backend_host: host,
  backend_port: port,
  targets,
  discovery,
}: Revision): Target[] | undefined {
  if (!hasSeveralTargets || scheme !== 'http' || host !== PLACES[0] || targets || discovery) return undefined;
  return PLACES.slice(0, COUNT).map((place) => ({ host: place, port, weight: 100 }));
}

/** A `Host` that a backend got, as a single target would have got it. */
export function plainHost(host: string | undefined): string | undefined {
  if (!hasSeveralTargets) return host;
  for (const place of PLACES.slice(1))
    if (host?.startsWith(`[${place}]`) === true) return host.replace(`[${place}]`, '127.0.0.1');
  return host;
}
