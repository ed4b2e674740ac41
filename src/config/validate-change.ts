/**
 * The last word on a write before it is committed: whether the changed records compile. Also revisions that are
 * not current are compiled, so that activating one later cannot fail on what was written earlier.
 *
 * Needs nothing but the change and so no state that could lag behind. What concerns other records than the
 * changed ones is for storage: unique paths, existing parents.
 */
import type { ConfigChange, EndpointChange, VersionTree } from '../model/config.ts';
import type { App, Version } from '../model/resources.ts';
import { CompileError } from './compile-error.ts';
import { compileRevision, compileVersion, createAppContext } from './compile.ts';
import type { AppContext } from './compile.ts';
import { mergePolicy } from './merge-policy.ts';
import type { PolicyCompiler } from './types.ts';

/** Throws CompileError when the change does not compile; `compilePolicy` must have no lasting effects. */
export function validateChange<P>(change: ConfigChange, compilePolicy: PolicyCompiler<P>): void {
  const contexts = new Map<string, AppContext<P>>();
  for (const { app } of change.apps) contexts.set(app.id, createAppContext(app));
  for (const app of change.apps) {
    validateAppPolicy(app.app, compilePolicy);
    for (const version of app.versions) validateVersion(version, contexts, compilePolicy);
  }
  for (const version of change.versions) validateVersion(version, contexts, compilePolicy);
  for (const each of change.endpoints ?? []) validateEndpoint(each, compilePolicy);
}

/** On its own; whether another endpoint matches the same requests is for the API to say, and for the workers. */
function validateEndpoint<P>({ revision, endpoint }: EndpointChange, compilePolicy: PolicyCompiler<P>): void {
  if (endpoint === undefined) return;
  const context: AppContext<P> = createAppContext(plainApp(''));
  const tree = { version: plainVersion(revision.version_id), revisions: [] };
  const version = compileVersion(context, tree, compilePolicy);
  compileRevision(context, version, { revision, endpoints: [endpoint] }, 0, compilePolicy);
}

/** On its own, since an app without versions has a policy as well, which its first version must find in order. */
function validateAppPolicy<P>(app: App, compilePolicy: PolicyCompiler<P>): void {
  try {
    compilePolicy(mergePolicy(app), app);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `Cannot compile the policy of app ${app.slug}: ${reason}`;
    throw new CompileError(message, app.id, 'default_policy', { cause: error });
  }
}

function validateVersion<P>(
  tree: VersionTree,
  contexts: Map<string, AppContext<P>>,
  compilePolicy: PolicyCompiler<P>,
): void {
  const appId = tree.version.app_id;
  let context = contexts.get(appId);
  if (context === undefined) {
    context = createAppContext(plainApp(appId));
    contexts.set(appId, context);
  }
  const version = compileVersion(context, tree, compilePolicy);
  for (const revision of tree.revisions) {
    if (!revision.revision.is_current) compileRevision(context, version, revision, 0, compilePolicy);
  }
}

/** Stands in for an app that the change does not bring along: policy parts never mix, so its own do not matter. */
function plainApp(id: string): App {
  return {
    id,
    created_at: '',
    updated_at: '',
    name: '',
    slug: id,
    gateway_path: '/',
    routing_mode: 'pass_through',
    default_policy: null,
    description: null,
    labels: {},
    allow_encoded_slashes: true,
  };
}

/** Stands in for a version of which nothing but an endpoint changes. */
function plainVersion(id: string): Version {
  return {
    id,
    created_at: '',
    updated_at: '',
    app_id: '',
    version: '',
    gateway_path: '/',
    gateway_path_is_default: false,
    status: 'active',
    sunset_at: null,
    deprecated_at: null,
    successor: null,
  };
}
