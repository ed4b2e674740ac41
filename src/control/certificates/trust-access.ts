/** Reports which files for the verification of client certificates the gateways on one database lack. */
import type { Logger } from '../../observe/log.ts';
import type { TrustFiles } from '../../x509/trust-bundle.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ConfigState } from '../cluster/config-state.ts';
import { trustLacks, trustNeedsReader, type TrustLack } from './trust-needs.ts';
import { TrustShare } from './trust-share.ts';

export interface TrustAccess {
  /** Asks other gateways only while a policy verifies client certificates. */
  lacks(): Promise<readonly TrustLack[]>;
  /** What this gateway lacks itself. */
  ownLacks(): readonly TrustLack[];
}

export function trustAccess(
  state: ConfigState,
  cluster: Cluster,
  files: () => ReadonlyMap<string, TrustFiles>,
  log: Pick<Logger, 'error'>,
): TrustAccess {
  const share = new TrustShare({ cluster, files, log });
  const needs = trustNeedsReader(state);
  return {
    lacks: async () => (needs().size === 0 ? [] : trustLacks(needs(), await share.all())),
    ownLacks: () => (needs().size === 0 ? [] : trustLacks(needs(), [share.own])),
  };
}
