/** Random writes through the management API, from a seed: what people do to a configuration over months. */
import type { TestGateway } from '../gateway.ts';

export interface RandomSource {
  /** From 0 up to and without `below`. */
  number(below: number): number;
  pick<T>(items: readonly T[]): T;
}

/** A linear congruential generator (Numerical Recipes): the same seed gives the same writes. */
export function randomSource(seed: number): RandomSource {
  let state = seed >>> 0;
  const number = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return {
    number,
    pick: (items) => {
      const item = items[number(items.length)];
      if (item === undefined) throw new Error('Cannot pick from nothing');
      return item;
    },
  };
}

// oxlint-disable-next-line typescript/no-explicit-any -- a declared tree is looked into freely
type Tree = any;

/**
 * One write that may be refused, as when a name is taken.
 * @param unique makes names of keys that no other key has had
 */
export async function randomWrite(
  gateway: TestGateway,
  random: RandomSource,
  unique: () => string,
): Promise<void> {
  const { config } = await gateway.must('GET', '/config');
  const apps = Object.keys((config as Tree).apps);
  if (apps.length < 2) return createApp(gateway, random);
  const slug = random.pick(apps);
  await random.pick(WRITES)({ gateway, random, slug, config, app: (config as Tree).apps[slug], unique });
}

interface Scene {
  readonly gateway: TestGateway;
  readonly random: RandomSource;
  readonly slug: string;
  readonly config: Tree;
  readonly app: Tree;
  readonly unique: () => string;
}

const SLUGS = ['a', 'b', 'c', 'd', 'e'];
const LABELS = ['v1', 'v2', 'v3'];
const PATHS = ['/x', '/y', '/x/{id}', '/y/{id}/z', '/w'];

const HOSTS = [[], ['a.test'], ['b.test', '*.c.test'], ['*.c.test'], ['a.test', 'b.test']];

async function createApp(gateway: TestGateway, random: RandomSource): Promise<void> {
  const slug = random.pick(SLUGS);
  const fields = { gateway_path: `/${random.pick(SLUGS)}`, hosts: random.pick(HOSTS) };
  await gateway.api('POST', '/apps', { name: slug, slug, ...fields });
}

function belowOf({ app, random }: Scene): { version: string; revision: string } | undefined {
  const versions = Object.keys(app.versions ?? {});
  if (versions.length === 0) return undefined;
  const version = random.pick(versions);
  const revisions = Object.keys(app.versions[version].revisions ?? {});
  return revisions.length === 0 ? undefined : { version, revision: random.pick(revisions) };
}

const policy = (random: RandomSource): unknown =>
  random.pick([
    null,
    { auth: { auth_type: 'api_key' } },
    { auth: { auth_type: 'jwt', jwt: { secret: `a-secret-of-at-least-32-characters-${random.number(9)}` } } },
    { rate_limit: { enabled: true, requests: 1 + random.number(9), window_seconds: 60 } },
  ]);

const WRITES: readonly ((scene: Scene) => Promise<unknown>)[] = [
  ({ gateway, random }) => createApp(gateway, random),
  ({ gateway, random, slug }) =>
    gateway.api('PATCH', `/apps/${slug}`, {
      description: `text ${random.number(5)}`,
      default_policy: policy(random),
      labels: { team: random.pick(['x', 'y']) },
    }),
  ({ gateway, random, slug }) =>
    gateway.api('PATCH', `/apps/${slug}`, {
      slug: random.pick(SLUGS),
      gateway_path: `/${random.pick(SLUGS)}`,
    }),
  ({ gateway, random, slug }) => gateway.api('PATCH', `/apps/${slug}`, { hosts: random.pick(HOSTS) }),
  async (scene) => {
    if (scene.random.number(3) === 0)
      await scene.gateway.api('DELETE', `/apps/${scene.slug}?cascade=true`);
  },
  ({ gateway, random, slug }) =>
    gateway.api('POST', `/apps/${slug}/versions`, { version: random.pick(LABELS) }),
  ({ gateway, random, slug }) =>
    gateway.api('PATCH', `/apps/${slug}/versions/${random.pick(LABELS)}`, {
      version: random.pick(LABELS),
      successor: random.pick([null, ...LABELS]),
      status: random.pick(['active', 'deprecated']),
    }),
  ({ gateway, random, slug }) =>
    gateway.api('DELETE', `/apps/${slug}/versions/${random.pick(LABELS)}?cascade=true`),
  createRevision,
  createRevision,
  createEndpoint,
  createEndpoint,
  createEndpoint,
  async (scene) => {
    const at = belowOf(scene);
    if (at === undefined) return;
    const path = `/apps/${scene.slug}/versions/${at.version}/revisions/${at.revision}`;
    await scene.gateway.api('PATCH', path, {
      revision: `r${scene.random.number(4)}`,
      traffic_weight: scene.random.number(100),
    });
  },
  async (scene) => {
    const at = belowOf(scene);
    if (at === undefined) return;
    const path = `/apps/${scene.slug}/versions/${at.version}/revisions/${at.revision}/endpoints`;
    const endpoints = await scene.gateway.must('GET', path);
    if (endpoints.length === 0) return;
    const { id } = scene.random.pick<{ id: string }>(endpoints);
    const change = { path: scene.random.pick(PATHS), policy_override: policy(scene.random) };
    await scene.gateway.api('PATCH', `${path}/${id}`, change);
  },
  ({ gateway, slug, unique }) =>
    gateway.api('POST', `/apps/${slug}/tokens`, { name: unique(), scopes: ['read'] }),
  swapPaths,
];

async function createRevision({ gateway, random, slug }: Scene): Promise<void> {
  await gateway.api('POST', `/apps/${slug}/versions/${random.pick(LABELS)}/revisions`, {
    revision: `r${random.number(4)}`,
    backend_scheme: 'http',
    backend_host: '127.0.0.1',
    backend_port: 1_024 + random.number(1_000),
    is_current: random.number(2) === 0,
    default_policy: policy(random),
  });
}

async function createEndpoint(scene: Scene): Promise<void> {
  const at = belowOf(scene);
  if (at === undefined) return;
  const { gateway, random, slug } = scene;
  const path = `/apps/${slug}/versions/${at.version}/revisions/${at.revision}/endpoints`;
  const method = random.pick(['GET', 'POST', '*']);
  await gateway.api('POST', path, { method, path: random.pick(PATHS), is_active: random.number(4) > 0 });
}

/** In one write: each app gets the path of the next. */
async function swapPaths({ gateway, config }: Scene): Promise<void> {
  const apps = Object.entries<Tree>(config.apps);
  const swapped = apps.map(([slug, app], index) => {
    const [, next] = apps[(index + 1) % apps.length] ?? [];
    return [slug, { ...app, gateway_path: next.gateway_path, hosts: next.hosts ?? [] }];
  });
  await gateway.api('POST', '/config/apply', { config: { apps: Object.fromEntries(swapped) } });
}
