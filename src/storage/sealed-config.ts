/**
 * A configuration outside of the database, such as in the snapshot file, with the secrets of its policies sealed as
 * they are inside: copies of app trees on their way out and in again.
 */
import { secretBytes } from '../kernel/ids.ts';
import type { AppTree } from '../model/config.ts';
import type { Policy } from '../model/policy.ts';
import { StorageUnavailable } from './repository.ts';
import type { SecretBox } from './secret-box.ts';
import { openPolicy, sealPolicy } from './sql/policy-secrets.ts';

const UNKNOWN_SECRET_BYTES = 64;

export function sealAppTree(tree: AppTree, box: SecretBox): AppTree {
  return withPolicies(tree, (policy, id) => sealPolicy(policy, box, id));
}

/**
 * The tree as it was before it was sealed. A secret that does not open is replaced by one that nobody knows, so that
 * its routes refuse every token: closed, not open.
 * @param box undefined: there is no key
 * @param onClosed told the id of each record whose secret did not open
 */
export function openAppTree(
  tree: AppTree,
  box: SecretBox | undefined,
  onClosed: (recordId: string) => void,
): AppTree {
  return withPolicies(tree, (policy, id) => {
    if (policy.auth?.jwt?.secret === undefined) return policy;
    try {
      if (box !== undefined) return openPolicy(policy, box, id);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
    }
    onClosed(id);
    const secret = secretBytes(UNKNOWN_SECRET_BYTES).toString('base64url');
    return { ...policy, auth: { ...policy.auth, jwt: { ...policy.auth.jwt, secret } } };
  });
}

function withPolicies(tree: AppTree, change: (policy: Policy, recordId: string) => Policy): AppTree {
  const changed = (policy: Policy | null, id: string): Policy | null =>
    policy === null ? null : change(policy, id);
  return {
    app: { ...tree.app, default_policy: changed(tree.app.default_policy, tree.app.id) },
    versions: tree.versions.map(({ version, revisions }) => ({
      version,
      revisions: revisions.map(({ revision, endpoints }) => ({
        revision: { ...revision, default_policy: changed(revision.default_policy, revision.id) },
        endpoints: endpoints.map((endpoint) => ({
          ...endpoint,
          policy_override: changed(endpoint.policy_override, endpoint.id),
        })),
      })),
    })),
  };
}
