/**
 * OpenAPI documents that others wrote, imported as `headgate import openapi` does, and what a gateway that serves them
 * answers. What a document describes is read here a second time, in the plainest way, to compare with.
 */
import http from 'node:http';
import { checkOffline } from '../../src/cli/config/check-offline.ts';
import { readDescription } from '../../src/management/import/openapi-document.ts';
import { importTree } from '../../src/management/import/openapi-tree.ts';
import { readBoundedFile } from '../../src/declaration/bounded-file.ts';
import { readForeign } from '../../src/declaration/foreign-document.ts';
import { FOREIGN_BYTES_MAX } from '../../src/declaration/foreign-limits.ts';

export interface Described {
  readonly method: string;
  readonly path: string;
}

export interface Surveyed {
  readonly file: string;
  /** Operations that the document has, of all methods. */
  readonly operations: number;
  /** Endpoints, as method and path. */
  readonly imported: readonly string[];
  /** Why operations have no endpoint, one entry for each. */
  readonly refused: readonly string[];
  /** Why the document as a whole could not be imported. */
  readonly problem?: string;
  /** Configuration with the one app, for `/config/apply`. */
  readonly config?: object;
}

export interface SurveyOptions {
  readonly slug: string;
  /** URL of the backend; undefined: that of the document, and where it has none one that is never called. */
  readonly backend: string | undefined;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'];
const VERSION = 'v1';
const CONCURRENCY = 8;

export async function survey(file: string, { slug, backend }: SurveyOptions): Promise<Surveyed> {
  const read = readBoundedFile(file, FOREIGN_BYTES_MAX);
  const parsed = 'problem' in read ? read : readForeign(read.bytes);
  const none = { file, operations: 0, imported: [], refused: [] };
  if ('problem' in parsed) return { ...none, problem: parsed.problem };
  const description = readDescription(parsed.value);
  const operations = operationsOf(parsed.value).length;
  if ('problem' in description) return { ...none, operations, problem: description.problem };
  const hasServer = description.serverUrls.some((url) => /^https?:\/\//.test(url));
  const tree = importTree(
    description,
    {
      app: slug,
      version: VERSION,
      revision: 'r1',
      gatewayPath: undefined,
      backend: backend ?? (hasServer ? undefined : 'https://backend.invalid'),
      security: false,
    },
    undefined,
  );
  if ('problem' in tree) return { ...none, operations, problem: tree.problem };
  const config = { apps: { [slug]: tree.app } };
  const [error] = (await checkOffline(config)).errors;
  if (error !== undefined) return { ...none, operations, problem: `${error.pointer} ${error.detail}` };
  return { file, operations, imported: endpointsOf(tree.app), refused: tree.notes, config };
}

function endpointsOf(app: Readonly<Record<string, unknown>>): string[] {
  const { versions } = app as {
    readonly versions: Record<string, { readonly revisions: Record<string, { endpoints: object }> }>;
  };
  return Object.keys(versions[VERSION]?.revisions['r1']?.endpoints ?? {});
}

/** Operations of paths, as the document spells them. */
function operationsOf(document: unknown): Described[] {
  const { paths } = document as { readonly paths?: Readonly<Record<string, unknown>> };
  return Object.entries(paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => typeof (item as Record<string, unknown> | null)?.[method] === 'object').map(
      (method) => ({ method: method.toUpperCase(), path }),
    ),
  );
}

export interface Served {
  readonly routed: number;
  readonly unknown: number;
  /** What was answered otherwise than the document says. */
  readonly wrong: readonly string[];
}

/**
 * Calls each endpoint with its parameters filled in, and beside each path one that no operation has.
 * @param proxy port of a gateway that has the configuration, whose backend answers `METHOD target` of what it got
 */
export async function askGateway(
  { imported }: Surveyed,
  { slug, proxy }: { readonly slug: string; readonly proxy: number },
): Promise<Served> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const endpoints = imported.map((label) => {
    const [method = '', path = ''] = label.split(/ (.*)/s);
    return { method, path };
  });
  const patterns = endpoints.map(({ path }) => patternOf(path));
  const wrong: string[] = [];
  let unknown = 0;
  const ask = async (endpoint: Described): Promise<void> => {
    const path = filled(endpoint.path);
    const call = (target: string) =>
      exchange(agent, proxy, endpoint.method, encodeURI(`/${slug}/${VERSION}${target}`));
    const { status, text } = await call(path);
    const got = `${endpoint.method} ${path}`;
    if (status !== 200 || decodeURIComponent(text) !== got)
      wrong.push(`${got}: ${status} ${text.slice(0, 200)}`);
    const beside = `${path.replace(/\/$/, '')}/nothing-described`;
    if (patterns.some((pattern) => pattern.test(beside))) return;
    unknown += 1;
    const answer = await call(beside);
    if (answer.status !== 404)
      wrong.push(`${endpoint.method} ${beside}: ${answer.status}, described nowhere`);
  };
  for (let from = 0; from < endpoints.length; from += CONCURRENCY)
    await Promise.all(endpoints.slice(from, from + CONCURRENCY).map(ask));
  agent.destroy();
  return { routed: endpoints.length, unknown, wrong };
}

/** A value for each parameter that is no literal of any document. */
function filled(path: string): string {
  let count = 0;
  return path.replaceAll(/\{[^{}/]+\}/g, () => `filled-${++count}`);
}

function patternOf(path: string): RegExp {
  const parts = path
    .split(/\{[^{}/]+\}/)
    .map((literal) => literal.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^/]+').replace(/\/\\\*$/, '/.*')}$`);
}

interface Exchanged {
  readonly status: number;
  readonly text: string;
}

function exchange(agent: http.Agent, port: number, method: string, path: string): Promise<Exchanged> {
  return new Promise((done, failed) => {
    const request = http.request({ agent, host: '127.0.0.1', port, method, path }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => done({ status: response.statusCode ?? 0, text }));
    });
    request.on('error', failed).end();
  });
}
