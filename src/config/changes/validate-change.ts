/**
 * The last check of a write before it is committed: whether the changed records compile. Revisions that are not current
 * are compiled too, so that activating one later cannot fail.
 *
 * Needs only the change, and so no state that could be outdated. Storage checks what concerns other records: unique
 * paths and existing parents.
 */
import { messageOf } from '../../lib/error-message.ts';
import type { Steps } from './slices.ts';
import type { ConfigChange, EndpointChange, VersionTree } from '../../model/config.ts';
import type { App, Version } from '../../model/resources.ts';
import { CompileError } from '../compile-error.ts';
import { compileRevision, compileVersion, createAppContext } from '../compile.ts';
import type { AppContext } from '../compile.ts';
import { mergePolicy } from '../merge-policy.ts';
import type { PolicyCompiler } from '../types.ts';

/** In steps. Throws CompileError when the change does not compile; `compilePolicy` must have no lasting effects. */
export function* validateChange<P>(change: ConfigChange, compilePolicy: PolicyCompiler<P>): Steps<void> {
  const contexts = new Map<string, AppContext<P>>();
  for (const { app } of change.apps) contexts.set(app.id, createAppContext(app));
  for (const app of change.apps) {
    validateAppPolicy(app.app, compilePolicy);
    for (const version of app.versions) yield* validateVersion(version, contexts, compilePolicy);
  }
  for (const version of change.versions) yield* validateVersion(version, contexts, compilePolicy);
  for (const each of change.endpoints ?? []) yield* validateEndpoint(each, compilePolicy);
}

/** Compiles the endpoint alone. The API and the workers check whether another endpoint matches the same requests. */
function* validateEndpoint<P>(
  { revision, endpoint }: EndpointChange,
  compilePolicy: PolicyCompiler<P>,
): Steps<void> {
  if (endpoint === undefined) return;
  const context: AppContext<P> = createAppContext(plainApp(''));
  const tree = { version: plainVersion(revision.version_id), revisions: [] };
  const version = yield* compileVersion(context, tree, compilePolicy);
  yield* compileRevision(context, version, { revision, endpoints: [endpoint] }, 0, compilePolicy);
}

/** Compiles the policy alone: an app without versions has a policy too, and its first version must find it valid. */
function validateAppPolicy<P>(app: App, compilePolicy: PolicyCompiler<P>): void {
  try {
    compilePolicy(mergePolicy(app), app);
  } catch (error) {
    const reason = messageOf(error);
    const message = `Cannot compile the policy of app ${app.slug}: ${reason}`;
    throw new CompileError(message, app.id, 'default_policy', { cause: error });
  }
}

function* validateVersion<P>(
  tree: VersionTree,
  contexts: Map<string, AppContext<P>>,
  compilePolicy: PolicyCompiler<P>,
): Steps<void> {
  const appId = tree.version.app_id;
  let context = contexts.get(appId);
  if (context === undefined) {
    context = createAppContext(plainApp(appId));
    contexts.set(appId, context);
  }
  const version = yield* compileVersion(context, tree, compilePolicy);
  for (const revision of tree.revisions) {
    if (revision.revision.is_current) continue;
    yield* compileRevision(context, version, revision, 0, compilePolicy);
  }
}

/**
 * Stands in for an app that is not part of the change. Levels replace whole parts, so its own policy does not matter.
 */
function plainApp(id: string): App {
  return {
    id,
    created_at: '',
    updated_at: '',
    name: '',
    slug: id,
    gateway_path: '/',
    hosts: [],
    routing_mode: 'pass_through',
    default_policy: null,
    description: null,
    labels: {},
    allow_encoded_slashes: true,
  };
}

/** Stands in for a version of which only an endpoint changes. */
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
