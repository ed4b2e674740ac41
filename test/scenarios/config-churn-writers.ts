/**
 * The writers of config-churn.ts: every kind of change, each with what the next request must show of it. Those whose
 * changes are generations (config-generations.ts) also say what the load is to ask meanwhile.
 */
import {
  generationBackend,
  generationPolicy,
  generationRequest,
  judge,
  SCOPES,
} from '../support/data/config-generations.ts';
import type { TestGateway } from '../support/gateway.ts';
import type { LoadRequest } from './generation-load-process.ts';
import type { LeanResponse } from '../support/clients/lean-client.ts';
import { createKey } from '../support/policies.ts';
import {
  createEndpoint,
  createRevision,
  createService,
  requestText,
  revisionPath,
  versionPath,
  type Fields,
  type Served,
} from '../support/traffic.ts';

export interface WriterTools {
  /** Makes one change when its time has come; rejects when it fails, and when there are to be no more. */
  readonly write: (method: string, path: string, body?: unknown) => Promise<Served>;
  /** Sends the request to every worker; `look` tells what is wrong with an answer. */
  readonly probe: (request: string, look: (response: LeanResponse) => string | undefined) => Promise<void>;
}

export interface PreparedWriter {
  /** What the load is to ask. */
  readonly requests: readonly LoadRequest[];
  /** Goes on until `write` rejects. */
  readonly run: (tools: WriterTools) => Promise<void>;
}

export type MakeWriter = (
  gateway: TestGateway,
  backendPort: number,
  index: number,
) => Promise<PreparedWriter>;

/** Makes the changes that lead to a generation; the last of them makes it visible. */
type Advance = (slug: string, generation: number, tools: WriterTools) => Promise<void>;

/** A revision's fields, its policy among them, in one PATCH. */
const revisions: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `revision${index}`;
  await createService(gateway, slug, backendPort, {
    revision: { ...generationBackend(1), default_policy: generationPolicy(1) },
  });
  return generations(gateway, slug, async (_slug, generation, { write }) => {
    const fields = { ...generationBackend(generation), default_policy: generationPolicy(generation) };
    await write('PATCH', revisionPath(slug), fields);
  });
};

/** An app's policy. */
const apps: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `app${index}`;
  await createService(gateway, slug, backendPort, {
    app: { default_policy: generationPolicy(1) },
    revision: { backend_base_path: '/fixed' },
  });
  const inApp = true;
  return generations(
    gateway,
    slug,
    async (_slug, generation, { write }) => {
      await write('PATCH', `/apps/${slug}`, { default_policy: generationPolicy(generation) });
    },
    inApp,
  );
};

/** The idle one of two revisions is changed, and then they change places at once. */
const activations: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `activation${index}`;
  await createService(gateway, slug, backendPort, {
    revision: { ...generationBackend(1), default_policy: generationPolicy(1) },
  });
  await createRevision(gateway, slug, backendPort, { revision: 'r0', is_current: false });
  return generations(gateway, slug, async (_slug, generation, { write }) => {
    const idle = revisionPath(slug, 'v1', `r${generation % 2}`);
    await write('PATCH', idle, {
      ...generationBackend(generation),
      default_policy: generationPolicy(generation),
    });
    await write('POST', `${idle}/activate`, { exclusive: true });
  });
};

/** An endpoint's policy and backend path. */
const endpoints: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `endpoint${index}`;
  const fieldsOf = (generation: number): Fields => {
    const { backend_base_path: base, strip_gateway_path: strips } = generationBackend(generation);
    return {
      backend_path: `${String(base)}${strips === true ? '' : `/${slug}/v1`}/x`,
      policy_override: generationPolicy(generation),
    };
  };
  await createService(gateway, slug, backendPort);
  const { id } = await createEndpoint(gateway, slug, 'GET', '/x', fieldsOf(1));
  return generations(gateway, slug, async (_slug, generation, { write }) => {
    await write('PATCH', `${revisionPath(slug)}/endpoints/${id}`, fieldsOf(generation));
  });
};

async function generations(
  gateway: TestGateway,
  slug: string,
  advance: Advance,
  inApp = false,
): Promise<PreparedWriter> {
  const all = await createKey(gateway, slug, { scopes: [...SCOPES] });
  const one = await createKey(gateway, slug, { scopes: [SCOPES[0]] });
  const requestOf = (token: string, scope: string | undefined): LoadRequest => ({
    slug,
    scope,
    token,
    inApp,
  });
  const withAll = requestOf(all.token, undefined);
  return {
    requests: [withAll, withAll, requestOf(one.token, SCOPES[0])],
    run: async (tools) => {
      const request = generationRequest(withAll, withAll.token);
      for (let generation = 2; ; generation++) {
        await advance(slug, generation, tools);
        await tools.probe(request, (response) => {
          const verdict = judge(withAll, response, inApp);
          if ('problem' in verdict) return `${slug}: ${verdict.problem}`;
          if (verdict.generation === generation) return undefined;
          return `${slug}: generation ${verdict.generation} after ${generation} was answered`;
        });
      }
    },
  };
}

/** Keys come and go. */
const keys: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `keys${index}`;
  await createService(gateway, slug, backendPort, {
    app: { default_policy: { auth: { auth_type: 'api_key' } } },
  });
  return {
    requests: [],
    run: async ({ write, probe }) => {
      for (;;) {
        const key = await write('POST', `/apps/${slug}/tokens`, { name: 'k', scopes: [] });
        const request = requestText(`/${slug}/v1/x`, { headers: { Authorization: `Bearer ${key.token}` } });
        await probe(request, expectStatus('a new key', 200));
        await write('PATCH', `/apps/${slug}/tokens/${key.id}`, { is_active: false });
        await probe(request, expectStatus('a key switched off', 401));
        await write('DELETE', `/apps/${slug}/tokens/${key.id}`);
        await probe(request, expectStatus('a deleted key', 401));
      }
    },
  };
};

/** Endpoints come, are switched off, and go. */
const registrations: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `registrations${index}`;
  await createService(gateway, slug, backendPort);
  const collection = `${revisionPath(slug)}/endpoints`;
  return {
    requests: [],
    run: async ({ write, probe }) => {
      for (let number = 0; ; number++) {
        const path = `/e${number}`;
        const request = requestText(`/${slug}/v1${path}`);
        const fields = { method: 'GET', path, backend_path: `/made${number}` };
        const { id } = await write('POST', collection, fields);
        await probe(request, expectBody('a new endpoint', `/made${number} without`));
        await write('PATCH', `${collection}/${id}`, { is_active: false });
        await probe(request, expectStatus('a disabled endpoint', 404));
        await write('DELETE', `${collection}/${id}`);
        await probe(request, expectBody('a deleted endpoint', `${path} without`));
      }
    },
  };
};

/** Whole apps come and go, with all that is below them. */
const trees: MakeWriter = (_gateway, backendPort, index) =>
  Promise.resolve({
    requests: [],
    run: async ({ write, probe }) => {
      for (let number = 0; ; number++) {
        const slug = `tree${index}-${number}`;
        const request = requestText(`/${slug}/v1/x`);
        await write('POST', '/apps', { name: slug, slug, gateway_path: `/${slug}` });
        await write('POST', `/apps/${slug}/versions`, { version: 'v1' });
        await probe(request, expectStatus('a version without a revision', 503));
        await write('POST', `${versionPath(slug)}/revisions`, {
          revision: 'r1',
          backend_scheme: 'http',
          backend_host: '127.0.0.1',
          backend_port: backendPort,
          is_current: true,
        });
        await probe(request, expectBody('a new revision', '/x without'));
        await write('DELETE', `/apps/${slug}?cascade=true`);
        await probe(request, expectStatus('a deleted app', 404));
      }
    },
  });

/** A version is retired and brought back. */
const retirements: MakeWriter = async (gateway, backendPort, index) => {
  const slug = `retirements${index}`;
  await createService(gateway, slug, backendPort);
  const request = requestText(`/${slug}/v1/x`);
  return {
    requests: [],
    run: async ({ write, probe }) => {
      for (;;) {
        await write('PATCH', versionPath(slug), { status: 'retired' });
        await probe(request, expectStatus('a retired version', 410));
        await write('PATCH', versionPath(slug), { status: 'active' });
        await probe(request, expectStatus('an active version', 200));
      }
    },
  };
};

function expectStatus(what: string, wanted: number): (response: LeanResponse) => string | undefined {
  return ({ status, body }) =>
    status === wanted ? undefined : `${what} is ${status} in place of ${wanted}: ${body}`;
}

function expectBody(what: string, wanted: string): (response: LeanResponse) => string | undefined {
  return ({ body }) => (body === wanted ? undefined : `${what} gives "${body}" in place of "${wanted}"`);
}

export const WRITERS: readonly MakeWriter[] = [
  revisions,
  revisions,
  revisions,
  revisions,
  apps,
  apps,
  activations,
  activations,
  endpoints,
  endpoints,
  keys,
  keys,
  registrations,
  registrations,
  trees,
  retirements,
];
