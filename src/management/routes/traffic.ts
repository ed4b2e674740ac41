/**
 * `…/versions/{version_id}/traffic`: how the traffic of a version is split, as one document. PUT sets all weights in
 * one step: the revisions that it names become current with these weights, all others are taken out of traffic.
 */
import { namesMeant } from '../../lib/nearest.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { FieldError } from '../../model/errors.ts';
import type { App, Revision, Version } from '../../model/resources.ts';
import { PAGE_LIMIT_MAX } from '../schemas/common.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { TrafficSchema, type Traffic } from '../schemas/revision.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import type { ManagementContext } from '../context.ts';
import { parentNames } from '../write/audit-names.ts';
import { checkIfMatch, entityTag } from '../api/entity-tag.ts';
import { answer, invalid, isFailure } from '../api/failure.ts';
import { itemPath, rulesOf } from '../crud/locate.ts';
import type { Operation } from '../api/operation.ts';
import { DRY_RUN_QUERY, NO_QUERY } from '../api/query.ts';
import { trafficWarnings } from '../write/warnings/revision.ts';
import { nextUpdatedAt } from '../write/write.ts';
import { findVersionScope, versions } from './resources/versions.ts';

/** A longer list of names would hide what is wrong. */
const REVISIONS_LISTED_MAX = 20;

const PATH = `${itemPath(versions)}/traffic`;
const SUCCESS = {
  status: 200,
  description: 'The weights of the current revisions',
  schema: jsonSchema(envelopeSchema('TrafficEnvelope', TrafficSchema)),
} as const;

export function trafficOperations(context: ManagementContext): Operation[] {
  return [getTraffic(context), putTraffic(context)];
}

function getTraffic({ repository }: ManagementContext): Operation {
  return {
    method: 'GET',
    path: PATH,
    operationId: 'getTraffic',
    tag: versions.tag,
    summary: 'Read the traffic split of a version',
    access: 'viewer',
    query: NO_QUERY,
    entityTag: true,
    success: SUCCESS,
    failures: [],
    handle: async ({ params }) => {
      const found = await repository.read(async (reader) => {
        const scope = await findVersionScope(reader, params);
        return isFailure(scope) ? scope : splitOf(await allRevisions(reader, scope.version));
      });
      return isFailure(found) ? found : answer(200, 'Traffic found', found, { ETag: entityTag(found) });
    },
  };
}

function putTraffic(context: ManagementContext): Operation {
  return {
    method: 'PUT',
    path: PATH,
    operationId: 'setTraffic',
    tag: versions.tag,
    summary: 'Split the traffic of a version',
    description:
      'In one step, the given revisions become current with these weights, and all other revisions of the version are taken out of traffic.',
    access: 'editor',
    query: DRY_RUN_QUERY,
    body: {
      schema: jsonSchema(TrafficSchema),
      required: true,
      mergePatch: false,
      example: { stable: 90, canary: 10 },
    },
    entityTag: true,
    isWrite: true,
    success: SUCCESS,
    failures: [],
    handle: (call) =>
      context.change(call, async (writer) => {
        const scope = await findVersionScope(writer, call.params);
        if (isFailure(scope)) return scope;
        const all = await allRevisions(writer, scope.version);
        const before = splitOf(all);
        const stale = checkIfMatch(call.ifMatch, entityTag(before));
        if (stale !== undefined) return stale;
        // A label may have the name of a member that every object inherits.
        const weights: ReadonlyMap<string, number> = new Map(Object.entries(call.body as Traffic));
        const errors = trafficErrors(weights, all, scope);
        if (errors.length > 0) return invalid(errors);
        const after: Revision[] = [];
        let changes = 0;
        for (const previous of all) {
          const next = withWeight(previous, weights.get(previous.revision));
          after.push(next);
          if (next === previous) continue;
          changes += 1;
          const updated_at = nextUpdatedAt(previous.updated_at, context.clock.nowMs());
          await writer.updateRevision({ ...next, updated_at });
        }
        const split = splitOf(after);
        const headers = { ETag: entityTag(split) };
        const warnings = () => trafficWarnings(scope, after, rulesOf(context, writer));
        if (changes === 0) return { unchanged: answer(200, 'Traffic unchanged', split, headers), warnings };
        return {
          answer: answer(200, 'Traffic split', split, headers),
          touched: versions.touched(scope, scope.version),
          previousTag: entityTag(before),
          warnings,
          audit: {
            action: 'version.traffic',
            resourceType: 'version',
            resourceId: scope.version.id,
            resourceName: scope.version.version,
            parents: parentNames({ app: scope.app }),
            change: { before, after: split },
          },
        };
      }),
  };
}

/** The revision itself when nothing changes. */
function withWeight(revision: Revision, weight: number | undefined): Revision {
  if (weight === undefined) return revision.is_current ? { ...revision, is_current: false } : revision;
  if (revision.is_current && revision.traffic_weight === weight) return revision;
  return { ...revision, is_current: true, traffic_weight: weight };
}

function trafficErrors(
  weights: ReadonlyMap<string, number>,
  all: readonly Revision[],
  { app, version }: { readonly app: App; readonly version: Version },
): FieldError[] {
  const labels = [...weights.keys()];
  if (labels.length === 0) return [{ pointer: '', detail: 'must name at least one revision' }];
  const known = all.map(({ revision }) => revision);
  const name = `${app.slug}/${version.version}`;
  return labels
    .filter((label) => !known.includes(label))
    .map((label) => ({
      pointer: `/${escapeToken(label)}`,
      detail: `is not a revision of ${name}; ${expectedRevision(label, known)}`,
    }));
}

/** The names that were probably meant, or else all, unless there are too many to read. */
function expectedRevision(label: string, known: readonly string[]): string {
  const quoted = (names: readonly string[]): string[] => names.map((each) => `"${each}"`);
  const meant = namesMeant(label, known);
  if (meant.length > 0) return `did you mean ${quoted(meant).join(' or ')}?`;
  if (known.length === 0) return 'it has no revision yet';
  if (known.length > REVISIONS_LISTED_MAX) return `expected one of its ${known.length} revisions`;
  return `expected ${known.length === 1 ? 'only' : 'one of'} ${quoted(known).join(', ')}`;
}

function splitOf(revisions: readonly Revision[]): Traffic {
  const current = revisions.filter(({ is_current: isCurrent }) => isCurrent);
  return Object.fromEntries(current.map(({ revision, traffic_weight: weight }) => [revision, weight]));
}

async function allRevisions(reader: ConfigReader, { id }: Version): Promise<Revision[]> {
  const all: Revision[] = [];
  let after: string | undefined;
  do {
    const page = await reader.listRevisions(id, { limit: PAGE_LIMIT_MAX, after });
    all.push(...page.items);
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
  return all;
}
