/** Combines the change sets of several writes of one transaction. Pure. */
import type { ChangeSet, TouchedEndpoint } from '../../model/config.ts';

/** With more changed endpoints of one version, compiling the whole version is less work. */
export const SINGLE_ENDPOINTS_MAX = 50;

export function touchedTogether(sets: readonly ChangeSet[]): ChangeSet {
  const appIds = new Set(sets.flatMap((set) => set.appIds));
  const keyIds = new Set(sets.flatMap((set) => set.keyIds));
  /** Versions that changed as a whole; the others have their endpoints. */
  const whole = new Set<string>();
  const single = new Map<string, Map<string, TouchedEndpoint>>();
  for (const { versionIds, endpoints = [] } of sets) {
    const inEndpoints = new Set(endpoints.map(({ versionId }) => versionId));
    for (const id of versionIds) if (!inEndpoints.has(id)) whole.add(id);
    for (const endpoint of endpoints) {
      const known = single.get(endpoint.versionId) ?? new Map<string, TouchedEndpoint>();
      single.set(endpoint.versionId, known.set(endpoint.endpointId, endpoint));
    }
  }
  const kept: TouchedEndpoint[] = [];
  for (const [versionId, endpoints] of single) {
    // A replaced app includes its versions, so no endpoint is listed.
    if (!whole.has(versionId) && appIds.size === 0 && endpoints.size <= SINGLE_ENDPOINTS_MAX) {
      kept.push(...endpoints.values());
    }
    whole.add(versionId);
  }
  return {
    appIds: [...appIds],
    versionIds: [...whole],
    ...(kept.length > 0 && { endpoints: kept }),
    keyIds: [...keyIds],
  };
}
