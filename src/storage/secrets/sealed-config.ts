/**
 * Encrypts and decrypts the secrets of policies in configuration that is stored outside the database, such as the
 * snapshot file, with the key of the database. Works on copies of app trees.
 */
import { secretBytes } from '../../lib/ids.ts';
import type { AppTree, VersionTree } from '../../model/config.ts';
import type { App } from '../../model/resources.ts';
import type { PolicyValues, SecretPlaces } from '../../model/policy.ts';
import { StorageUnavailable } from '../storage-errors.ts';
import type { SecretBox } from './secret-box.ts';
import { mapSecrets, openPolicy, sealPolicy, secretsOf, type Sealing } from '../sql/policy-secrets.ts';

const UNKNOWN_SECRET_BYTES = 64;

/** A `Sealing` whose key may be missing. */
export interface MaybeSealing {
  readonly box: SecretBox | undefined;
  readonly places: SecretPlaces;
}

export function sealApp(app: App, sealing: Sealing): App {
  return withAppPolicy(app, (policy, id) => sealPolicy(policy, sealing, id));
}

export function sealVersionTree(tree: VersionTree, sealing: Sealing): VersionTree {
  return withVersionPolicies(tree, (policy, id) => sealPolicy(policy, sealing, id));
}

/**
 * Decrypts the secrets of a tree. Replaces a secret that cannot be decrypted with a random one, so that its routes
 * refuse every token.
 * @param onClosed receives the id of each record whose secret could not be decrypted
 */
export function openAppTree(
  tree: AppTree,
  { box, places }: MaybeSealing,
  onClosed: (recordId: string) => void,
): AppTree {
  const open: ChangePolicy = (policy, id) => {
    if (secretsOf(policy, places).length === 0) return policy;
    try {
      if (box !== undefined) return openPolicy(policy, { box, places }, id);
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
    }
    onClosed(id);
    return mapSecrets(policy, places, () => secretBytes(UNKNOWN_SECRET_BYTES).toString('base64url'));
  };
  return {
    app: withAppPolicy(tree.app, open),
    versions: tree.versions.map((version) => withVersionPolicies(version, open)),
  };
}

type ChangePolicy = (policy: PolicyValues, recordId: string) => PolicyValues;

function withAppPolicy(app: App, change: ChangePolicy): App {
  const { default_policy: policy, id } = app;
  return policy === null ? app : { ...app, default_policy: change(policy, id) };
}

/** Returns records without a policy as the same objects. */
function withVersionPolicies({ version, revisions }: VersionTree, change: ChangePolicy): VersionTree {
  return {
    version,
    revisions: revisions.map(({ revision, endpoints }) => ({
      revision:
        revision.default_policy === null
          ? revision
          : { ...revision, default_policy: change(revision.default_policy, revision.id) },
      endpoints: endpoints.map((endpoint) =>
        endpoint.policy_override === null
          ? endpoint
          : { ...endpoint, policy_override: change(endpoint.policy_override, endpoint.id) },
      ),
    })),
  };
}
