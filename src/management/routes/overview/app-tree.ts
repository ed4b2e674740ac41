/**
 * `GET /api/v1/apps/{app_id}/tree`: the versions of an app with their revisions and the number of endpoints of each, so
 * that a tree needs one call and not one for each node. From the configuration in memory: endpoints are not counted row
 * by row, and the database is not asked.
 */
import { shownPlace } from '../../../config/backend.ts';
import { sourceText } from '../../../config/targets.ts';
import type { RevisionTree, VersionTree } from '../../../model/config.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import type { Revision } from '../../../model/resources.ts';
import { isFailure, listAnswer, notFound } from '../../api/failure.ts';
import { API_PREFIX, type Operation } from '../../api/operation.ts';
import { PAGE_QUERY, pageInfo, pageRequest } from '../../api/query.ts';
import type { ManagementContext } from '../../context.ts';
import { listSchema } from '../../schemas/envelope.ts';
import {
  TreeVersionSchema,
  type TreeRevision,
  type TreeVersion,
} from '../../schemas/overview/tree-schema.ts';
import type { RevisionHealth } from '../../schemas/revision-health.ts';
import { servedApp, servedVersions } from '../../served-config.ts';

/** Limit of the revisions of one version. */
const REVISIONS_MAX = 200;
/** Limit for all versions on a page, which is then shorter. */
const PAGE_REVISIONS_MAX = 10_000;

export function treeOperation(context: ManagementContext): Operation {
  return {
    method: 'GET',
    path: `${API_PREFIX}/apps/{app_id}/tree`,
    operationId: 'getAppTree',
    tag: 'Apps',
    summary: 'Versions of an app with their revisions',
    description:
      'Each revision with its state and the number of its endpoints. It is also available while the database is not.',
    access: 'viewer',
    query: PAGE_QUERY,
    entityTag: false,
    success: {
      status: 200,
      description: 'A page of versions, oldest first',
      schema: jsonSchema(listSchema('TreeVersionList', TreeVersionSchema)),
    },
    failures: [],
    handle: async ({ params, query }) => {
      const page = pageRequest(query);
      if (isFailure(page)) return page;
      const reference = params['app_id'] ?? '';
      const app = servedApp(context.served, reference);
      if (app === undefined) return notFound('app', reference);
      const all = servedVersions(context.served, app.id);
      const rest = all.filter(({ version }) => version.id > (page.after ?? ''));
      const items = pageOf(rest, page.limit);
      const nextAfter = rest.length > items.length ? (items.at(-1)?.version.id ?? null) : null;
      const shown = items.map((tree) => treeVersion(tree, context));
      return listAnswer('Tree found', shown, pageInfo({ items, total: all.length, nextAfter }, page.limit));
    },
  };
}

function pageOf(trees: readonly VersionTree[], limit: number): VersionTree[] {
  const items: VersionTree[] = [];
  let revisions = 0;
  for (const tree of trees.slice(0, limit)) {
    revisions += Math.min(tree.revisions.length, REVISIONS_MAX);
    if (items.length > 0 && revisions > PAGE_REVISIONS_MAX) break;
    items.push(tree);
  }
  return items;
}

function treeVersion({ version, revisions }: VersionTree, context: ManagementContext): TreeVersion {
  const weight = revisions.reduce((sum, { revision }) => sum + weightOf(revision), 0);
  return {
    id: version.id,
    version: version.version,
    gateway_path: version.gateway_path,
    status: version.status,
    sunset_at: version.sunset_at,
    deprecated_at: version.deprecated_at,
    successor: version.successor,
    endpoints: revisions.reduce((sum, { endpoints }) => sum + endpoints.length, 0),
    revisions_total: revisions.length,
    revisions: shownRevisions(revisions).map((tree) => treeRevision(tree, weight, context)),
  };
}

const weightOf = (revision: Revision): number => (revision.is_current ? revision.traffic_weight : 0);

function shownRevisions(revisions: readonly RevisionTree[]): RevisionTree[] {
  const byId = (a: RevisionTree, b: RevisionTree): number => (a.revision.id < b.revision.id ? -1 : 1);
  if (revisions.length <= REVISIONS_MAX) return revisions.toSorted(byId);
  const [current, idle] = [true, false].map((isCurrent) =>
    revisions.filter(({ revision }) => revision.is_current === isCurrent).toSorted((a, b) => byId(b, a)),
  );
  return [...(current ?? []), ...(idle ?? [])].slice(0, REVISIONS_MAX).toSorted(byId);
}

function treeRevision(
  { revision, endpoints }: RevisionTree,
  weight: number,
  { status }: ManagementContext,
): TreeRevision {
  const breaker = status.breakerState(revision.id) as { readonly state: TreeRevision['breaker'] } | undefined;
  const health = revision.is_current ? status.revisionHealth(revision) : undefined;
  return {
    id: revision.id,
    revision: revision.revision,
    is_current: revision.is_current,
    traffic_weight: revision.traffic_weight,
    traffic_share: weight === 0 ? 0 : weightOf(revision) / weight,
    breaker: breaker?.state ?? null,
    health: health === undefined ? null : healthOf(health),
    backend: backendOf(revision),
    targets: targetsOf(revision, health),
    endpoints: endpoints.length,
    has_policy: revision.default_policy !== null,
    updated_at: revision.updated_at,
  };
}

function healthOf({
  consecutive_failures,
  probing,
  last_error,
  last_probe,
}: RevisionHealth): TreeRevision['health'] {
  return { consecutive_failures, probing, last_error, last_probe };
}

function targetsOf(
  { targets, discovery }: Revision,
  health: RevisionHealth | undefined,
): TreeRevision['targets'] {
  const inService = health?.targets?.filter(({ share }) => share > 0).length ?? null;
  if (discovery)
    return { total: health?.discovery?.targets ?? 0, in_service: inService, source: sourceText(discovery) };
  if (targets === null || targets.length < 2) return null;
  return { total: targets.length, in_service: inService, source: null };
}

function backendOf(revision: Revision): string {
  const {
    backend_scheme: scheme,
    backend_host: host,
    backend_port: port,
    backend_base_path: path,
    discovery,
  } = revision;
  if (discovery) return `${scheme} by ${sourceText(discovery)}${path === '/' ? '' : path}`;
  return `${scheme}://${shownPlace(host, port)}${path === '/' ? '' : path}`;
}
