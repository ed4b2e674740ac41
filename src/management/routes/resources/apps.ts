/** Apps (contract part 2). A change of `gateway_path` also changes the versions whose path is the default. */
import { isDeepStrictEqual } from 'node:util';
import type { App } from '../../../model/resources.ts';
import { AppInputSchema, AppSchema, type AppInput } from '../../schemas/app.ts';
import { PAGE_LIMIT_MAX } from '../../schemas/common.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { parseGatewayPath } from '../../../config/path-patterns.ts';
import type { ConfigReader, ConfigWriter } from '../../../storage/repository.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { cascadedKeys } from '../../write/audit-names.ts';
import { conflict, invalid, type Failure } from '../../api/failure.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { unknownName } from '../../crud/unknown-name.ts';
import {
  appPathConflict,
  defaultGatewayPath,
  gatewayPathFailure,
  hostsConflict,
  versionPathConflict,
} from '../../write/rules/gateway-path.ts';
import { readHosts } from '../../write/rules/hosts.ts';
import { labelErrors } from '../../write/rules/labels.ts';
import { policyErrors, storedPolicy } from '../../write/rules/policy.ts';
import { maskPolicy } from '../../write/policy-secrets-view.ts';
import { appWarnings } from '../../write/warnings/app.ts';
import { nextUpdatedAt } from '../../write/write.ts';
import { counted } from '../../../lib/text/counted.ts';

export const apps: Resource<object, AppInput, App> = {
  type: 'app',
  names: ['App', 'Apps'],
  operationNames: ['App', 'Apps'],
  tag: 'Apps',
  collection: '/apps',
  parameter: 'app_id',
  filteredAs: 'app',
  dryRun: true,
  access: { read: 'viewer', write: 'editor' },
  inputSchema: jsonSchema(AppInputSchema),
  schema: jsonSchema(AppSchema),
  example: {
    input: { name: 'Billing', slug: 'billing', gateway_path: '/billing', routing_mode: 'pass_through' },
    patch: { default_policy: { rate_limit: { enabled: true, requests: 100, window_seconds: 60 } } },
  },
  scope: async () => ({}),
  list: (reader, _scope, page) => reader.listApps(page),
  find: (reader, _scope, reference) => reader.findApp(reference),
  build: buildApp,
  insert: (writer, app) => writer.insertApp(app),
  update: updateApp,
  nameOf: ({ slug }) => slug,
  placeOfNames: () => 'here',
  remove: (writer, app) => writer.deleteApp(app.id),
  children: async (writer, app) => [
    ...countedBelow(await writer.countVersions(app.id), 'version'),
    ...countedBelow(await writer.countKeys(app.id), 'token'),
  ],
  async removedWith(writer, app) {
    const keys = await cascadedKeys(writer, app.id);
    return keys.length > 0 ? { keys } : {};
  },
  writable(app) {
    const { id: _id, created_at: _createdAt, updated_at: _updatedAt, ...writable } = app;
    return writable;
  },
  present: (app) => ({ ...app, default_policy: maskPolicy(app.default_policy) }),
  warnings: (rules, _scope, app) => appWarnings(app, rules),
  touched: (_scope, app) => ({ appIds: [app.id], versionIds: [], keyIds: [] }),
  touchedByRemoval: async (writer, _scope, app) => ({
    appIds: [app.id],
    versionIds: [],
    keyIds: await writer.keyIdsOfApp(app.id),
  }),
};

/** The app that a path names, for the resources below it. */
export async function findAppScope(
  reader: ConfigReader,
  params: Readonly<Record<string, string>>,
): Promise<{ readonly app: App } | Failure> {
  const reference = params['app_id'] ?? '';
  const app = await reader.findApp(reference);
  return app === undefined ? unknownName(apps, reader, {}, reference) : { app };
}

/** `2 versions`, `1 version`, or nothing for none. */
export function countedBelow(count: number, noun: string): string[] {
  return count === 0 ? [] : [counted(count, noun)];
}

async function buildApp(
  input: AppInput,
  base: RecordBase,
  previous: App | undefined,
  _scope: object,
  rules: RuleContext,
): Promise<Built<App> | Failure> {
  const errors = [
    ...labelErrors(input.slug, '/slug'),
    ...policyErrors(input.default_policy, '/default_policy', rules),
  ];
  const hosts = readHosts(input.hosts ?? [], errors);
  const badPath = gatewayPathFailure(input.gateway_path);
  if (badPath !== undefined) errors.push(...(badPath.errors ?? []));
  if (errors.length > 0) return invalid(errors);
  const sameSlug = await rules.reader.findApp(input.slug);
  if (sameSlug !== undefined && sameSlug.id !== base.id) {
    return conflict('/slug', `"${input.slug}" is already taken by the app "${sameSlug.name}"`);
  }
  const owner = { appId: base.id, hosts };
  const pathTaken = await appPathConflict(rules.reader, input.gateway_path, owner);
  if (pathTaken !== undefined) return pathTaken;
  if (previous !== undefined && !isDeepStrictEqual(hosts, previous.hosts)) {
    const isMoving = input.gateway_path !== previous.gateway_path;
    const hostTaken = await hostsConflict(rules.reader, owner, isMoving);
    if (hostTaken !== undefined) return hostTaken;
  }
  return {
    record: {
      ...base,
      name: input.name,
      slug: input.slug,
      gateway_path: input.gateway_path,
      hosts,
      routing_mode: input.routing_mode ?? 'pass_through',
      default_policy: storedPolicy(input.default_policy),
      description: input.description ?? null,
      labels: input.labels ?? {},
      allow_encoded_slashes: input.allow_encoded_slashes ?? false,
    },
  };
}

async function updateApp(
  writer: ConfigWriter,
  app: App,
  previous: App,
  rules: RuleContext,
): Promise<Failure | undefined> {
  const isMoved = app.gateway_path !== previous.gateway_path;
  // Within an app with hosts, paths are unique by themselves: so they move while it has some.
  if (isMoved && app.hosts.length === 0 && previous.hosts.length > 0) {
    await writer.updateApp({ ...app, hosts: previous.hosts });
    const refused = await moveDefaultPaths(writer, app, rules);
    if (refused === undefined) await writer.updateApp(app);
    return refused;
  }
  await writer.updateApp(app);
  return isMoved ? moveDefaultPaths(writer, app, rules) : undefined;
}

/** The new paths cannot conflict with each other or with an old one of the same app: their labels differ. */
async function moveDefaultPaths(
  writer: ConfigWriter,
  app: App,
  rules: RuleContext,
): Promise<Failure | undefined> {
  let after: string | undefined;
  do {
    const page = await writer.listVersions(app.id, { limit: PAGE_LIMIT_MAX, after });
    for (const version of page.items) {
      if (!version.gateway_path_is_default) continue;
      const path = defaultGatewayPath(app, version.version);
      const parsed = parseGatewayPath(path);
      if ('error' in parsed) {
        const detail = `makes the path "${path}" of the version "${version.version}", which ${parsed.error}`;
        return invalid([{ pointer: '/gateway_path', detail }]);
      }
      const owner = { appId: app.id, hosts: app.hosts };
      const taken = await versionPathConflict(writer, path, version.id, owner);
      if (taken !== undefined) return taken;
      const updated_at = nextUpdatedAt(version.updated_at, rules.clock.nowMs());
      await writer.updateVersion({ ...version, gateway_path: path, updated_at });
    }
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
  return undefined;
}
