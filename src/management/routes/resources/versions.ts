/** Versions (contract part 2 and 3). Any status may follow any other; every change is in the audit log. */
import { timestamp } from '../../../lib/clock.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { App, Version } from '../../../model/resources.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import { VersionInputSchema, VersionSchema, type VersionInput } from '../../schemas/version.ts';
import type { ConfigReader } from '../../../storage/repository.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { conflict, invalid, isFailure, type Failure } from '../../api/failure.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { unknownName } from '../../crud/unknown-name.ts';
import {
  defaultGatewayPath,
  gatewayPathFailure,
  versionPathConflict,
} from '../../write/rules/gateway-path.ts';
import { labelErrors } from '../../write/rules/labels.ts';
import { normalizeTime } from '../../write/rules/times.ts';
import { overlapWarnings } from '../../write/warnings/hosts.ts';
import { versionWarnings } from '../../write/warnings/version.ts';
import { countedBelow, findAppScope } from './apps.ts';

interface Scope {
  readonly app: App;
}

export const versions: Resource<Scope, VersionInput, Version> = {
  type: 'version',
  names: ['Version', 'Versions'],
  operationNames: ['Version', 'Versions'],
  tag: 'Versions',
  collection: '/apps/{app_id}/versions',
  parameter: 'version_id',
  filteredAs: 'version',
  dryRun: true,
  access: { read: 'viewer', write: 'editor' },
  inputSchema: jsonSchema(VersionInputSchema),
  schema: jsonSchema(VersionSchema),
  example: { input: { version: 'v1' }, patch: { status: 'deprecated' } },
  scope: findAppScope,
  list: (reader, { app }, page) => reader.listVersions(app.id, page),
  find: (reader, { app }, reference) => reader.findVersion(app.id, reference),
  build: buildVersion,
  insert: (writer, version) => writer.insertVersion(version),
  async update(writer, version) {
    await writer.updateVersion(version);
    return undefined;
  },
  nameOf: ({ version }) => version,
  placeOfNames: ({ app }) => `in app "${app.slug}"`,
  remove: (writer, version) => writer.deleteVersion(version.id),
  children: async (writer, version) => countedBelow(await writer.countRevisions(version.id), 'revision'),
  keep: (rules, version) => keptAsSuccessor(rules.reader, version),
  writable: (version) => ({
    version: version.version,
    ...(version.gateway_path_is_default ? {} : { gateway_path: version.gateway_path }),
    status: version.status,
    sunset_at: version.sunset_at,
    // The date of a deprecated version stays, and is removed with its status.
    ...(version.status === 'deprecated' ? {} : { deprecated_at: version.deprecated_at }),
    successor: version.successor,
  }),
  present: (version) => ({ ...version }),
  warnings: async (rules, { app }, version) => [
    ...versionWarnings(version, rules),
    ...(await overlapWarnings(app, rules, '/gateway_path')),
  ],
  touched: (_scope, version) => ({ appIds: [], versionIds: [version.id], keyIds: [] }),
};

/** The version that a path names, with its app, for the resources below it. */
export async function findVersionScope(
  reader: ConfigReader,
  params: Readonly<Record<string, string>>,
): Promise<(Scope & { readonly version: Version }) | Failure> {
  const scope = await findAppScope(reader, params);
  if (isFailure(scope)) return scope;
  const reference = params['version_id'] ?? '';
  const version = await reader.findVersion(scope.app.id, reference);
  return version === undefined ? unknownName(versions, reader, scope, reference) : { ...scope, version };
}

async function buildVersion(
  input: VersionInput,
  base: RecordBase,
  previous: Version | undefined,
  { app }: Scope,
  rules: RuleContext,
): Promise<Built<Version> | Failure> {
  const errors = labelErrors(input.version, '/version');
  const path = input.gateway_path ?? defaultGatewayPath(app, input.version);
  errors.push(...(gatewayPathFailure(path)?.errors ?? []));
  const sunsetAt = readTime(input.sunset_at, '/sunset_at', errors);
  const deprecatedAt = readTime(input.deprecated_at, '/deprecated_at', errors);
  errors.push(...(await successorErrors(input, app, rules.reader)));
  if (errors.length > 0) return invalid(errors);
  const sameLabel = await rules.reader.findVersion(app.id, input.version);
  if (sameLabel !== undefined && sameLabel.id !== base.id) {
    return conflict('/version', `"${input.version}" is already a version of the app "${app.slug}"`);
  }
  const owner = { appId: app.id, hosts: app.hosts };
  const taken = await versionPathConflict(rules.reader, path, base.id, owner);
  if (taken !== undefined) return taken;
  if (previous !== undefined && previous.version !== input.version) {
    const kept = await keptAsSuccessor(rules.reader, previous);
    if (kept !== undefined) return kept;
  }
  const status = input.status ?? 'active';
  return {
    record: {
      ...base,
      app_id: app.id,
      version: input.version,
      gateway_path: path,
      gateway_path_is_default: input.gateway_path === undefined,
      status,
      sunset_at: sunsetAt,
      deprecated_at:
        deprecatedAt ??
        (status === 'deprecated' ? (previous?.deprecated_at ?? timestamp(rules.clock.nowMs())) : null),
      successor: input.successor ?? null,
    },
  };
}

/** In the stored form; a date that does not exist is added to the errors. */
function readTime(text: string | null | undefined, pointer: string, errors: FieldError[]): string | null {
  if (text === null || text === undefined) return null;
  const time = normalizeTime(text);
  if (time === undefined) errors.push({ pointer, detail: 'is not a date that exists' });
  return time ?? null;
}

async function successorErrors(
  { version, successor }: VersionInput,
  app: App,
  reader: ConfigReader,
): Promise<FieldError[]> {
  if (successor === null || successor === undefined || successor.includes('/')) return [];
  const pointer = '/successor';
  if (successor === version) return [{ pointer, detail: 'must be a version other than this one' }];
  const found = await reader.findVersion(app.id, successor);
  if (found?.version === successor) return [];
  return [
    { pointer, detail: `must be a version of the app "${app.slug}"; it has no version "${successor}"` },
  ];
}

/** A version that others name as their successor cannot be renamed or deleted. */
async function keptAsSuccessor(reader: ConfigReader, version: Version): Promise<Failure | undefined> {
  const others = await reader.findVersionsBySuccessor(version.app_id, version.version);
  const labels = others.filter(({ id }) => id !== version.id).map((other) => `"${other.version}"`);
  if (labels.length === 0) return undefined;
  const detail = `"${version.version}" is the successor of ${labels.join(' and ')}; change that first`;
  return conflict('/version', detail);
}
