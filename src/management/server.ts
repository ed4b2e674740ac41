/**
 * The management API on Fastify, assembled from its parts. Owns the listener. operations.ts has the list of
 * operations, serve-operation.ts serves each, write.ts does the writes.
 *
 * Fastify's own validation and serialisation are not used: a PATCH must be checked after it has been merged, inside
 * the transaction, and every error must name its field by a pointer.
 */
import { FilteredReads } from './crud/filtered-reads.ts';
import type { FastifyBaseLogger } from 'fastify';
import type { ConfigReader } from '../storage/repository.ts';
import { StorageUnavailable } from '../storage/storage-errors.ts';
import { createAccess } from './access/api-access.ts';
import type { ConsoleFiles } from './console/console-files.ts';
import type { ManagementContext, ManagementStatus, NodesAccess, ShadowReports } from './context.ts';
import type { EgressCheck } from './write/rule-context.ts';
import { EventFeed } from './routes/events/event-feed.ts';
import { DatabaseCheck } from './database-check.ts';
import { createChangePath } from './write/dry-run.ts';
import type { ConfigTrials, ExplainAccess } from '../explain/explain-access.ts';
import type { LiveHub } from '../explain/live/live-hub.ts';
import { isFailure } from './api/failure.ts';
import {
  managementListening,
  type CertificateTexts,
  type LastingStreams,
  type ManagementListening,
} from './listening.ts';
import { openApiDocument, type JsonObject } from './api/openapi.ts';
import { API_PREFIX, JSON_TYPE, type Operation } from './api/operation.ts';
import { allOperations } from './operations.ts';
import { NO_QUERY } from './api/query.ts';
import { readingThroughOutages } from './crud/reading.ts';
import { addBodyReader, addErrorPages, createFastify } from './fastify-server.ts';
import { addressOf, serve, type Actors, type AdminAccess } from './serve-operation.ts';
import type { OidcSettings } from './sessions/oidc/oidc-client.ts';
import { cameOverTls, markCookies } from './sessions/forwarded-tls.ts';
import { addOidcRoutes } from './sessions/oidc/oidc-routes.ts';
import type { SessionSettings } from './sessions/sessions.ts';
import { createWritePath, type WriteDependencies, type WritePath } from './write/write.ts';
import { WriteGate } from './write/write-gate.ts';

/** How long `close` waits for running requests before it cuts them off. */
const CLOSE_GRACE_MS = 5_000;

export interface ManagementDependencies extends WriteDependencies {
  /** GATEWAY_ADMIN_TOKEN. */
  readonly adminToken: string | undefined;
  /** Wrong admin tokens per minute and client address; 0: any number. */
  readonly authFailuresPerMinute: number;
  /** Hears the address of each wrong admin token. */
  readonly onRefusedLogin?: (address: string) => void;
  /** Settings of browser sessions. */
  readonly sessions: SessionSettings;
  /** The OpenID provider with which browsers may sign in. */
  readonly oidc?: OidcSettings | undefined;
  /**
   * Proxies whose X-Forwarded-For is believed, for the audit log and for slowing down guesses, and whose
   * X-Forwarded-Proto is believed, for cookies.
   */
  readonly isTrustedProxy: (address: string) => boolean;
  /** PEM texts of the chain and its key; absent: plain HTTP. */
  readonly tls?: CertificateTexts | undefined;
  readonly swaggerEnabled: boolean;
  /** The built console; absent: there is none. */
  readonly console?: ConsoleFiles | undefined;
  /** Global rate limit of the settings; fills in what a policy leaves out. */
  readonly policyGlobals: ManagementContext['policyGlobals'];
  readonly limitSettings: ManagementContext['limitSettings'];
  readonly egress: EgressCheck;
  /** Defaults of the settings for JWT policies that omit fields. */
  readonly jwtDefaults: ManagementContext['jwtDefaults'];
  /** The workers' configuration, for reads while the database is unavailable; absent: such reads fail. */
  readonly copy?: ConfigReader;
  readonly status: ManagementStatus;
  readonly nodes: NodesAccess;
  readonly shadow: ShadowReports;
  readonly explain: ExplainAccess;
  readonly live: LiveHub;
  /** Sends a test event to a webhook. */
  readonly testWebhook: ManagementContext['webhooks']['test'];
  /** Ended when the gateway stops. */
  readonly profiles: ManagementContext['profiles'] & LastingStreams;
  readonly trials: ConfigTrials;
  readonly convertDescription: ManagementContext['convertDescription'];
  readonly settings: ManagementContext['settings'];
  readonly served: ManagementContext['served'];
  readonly ownListener: ManagementContext['ownListener'];
  /** Prometheus text format. */
  readonly metricsText: () => Promise<string>;
  readonly logger: FastifyBaseLogger;
  /** Version of Headgate, for the OpenAPI document. */
  readonly version: string;
  /** Writes wait for it; absent: they need not wait. */
  readonly mayWrite?: () => Promise<void>;
  /** For tests; milliseconds. */
  readonly closeGraceMs?: number;
}

/** A configuration from files is in memory: a long change makes others wait, and is not an outage. */
const nothing = async (): Promise<void> => undefined;
const IN_MEMORY = { ping: nothing, pingWrite: nothing, assertPrivileges: nothing };

export async function createManagementServer(
  dependencies: ManagementDependencies,
): Promise<ManagementListening> {
  const { repository, clock, logger, isTrustedProxy, tls } = dependencies;
  const isFallback = dependencies.status.fallback() !== undefined;
  const checked = dependencies.status.configFile() === undefined ? repository : IN_MEMORY;
  const database = new DatabaseCheck(checked, clock, logger, isFallback);
  const { mayWrite = async () => undefined } = dependencies;
  const gate = new WriteGate();
  const write = watchedWrites(createWritePath(gated(dependencies, gate)), database, mayWrite, gate);
  const access = createAccess({ ...dependencies, isSecure: tls !== undefined, write });
  const context: ManagementContext = { ...contextOf(dependencies, write, database), signIn: access.signIn };
  const operations = allOperations(context);
  const documented = openApiOperation(operations, dependencies.version);
  const all = [...operations, documented.operation];

  const actors: Actors = new WeakMap();
  const server = createFastify(logger, actors, tls);
  const streams = [dependencies.live, context.eventFeed, dependencies.profiles];
  const listening = managementListening(server, dependencies.closeGraceMs ?? CLOSE_GRACE_MS, streams, gate);
  addBodyReader(server);
  addErrorPages(server, all, dependencies.console);
  if (tls === undefined) markCookies(server, isTrustedProxy);
  server.addHook('onClose', async () => {
    database.stop();
    access.close();
  });
  const adminAccess: AdminAccess = {
    ...access,
    addressOf: (request) => addressOf(request, isTrustedProxy),
    actors,
    configFile: () => dependencies.status.configFile(),
  };
  for (const operation of all) serve(server, operation, adminAccess);
  const { oidc } = dependencies;
  if (oidc !== undefined) {
    addOidcRoutes(server, {
      ...access.signIn,
      settings: oidc,
      clock,
      addressOf: adminAccess.addressOf,
      isSecure: (request) => tls !== undefined || cameOverTls(request, isTrustedProxy),
    });
  }
  if (dependencies.swaggerEnabled) {
    // Loaded only when enabled: it makes a start noticeably longer.
    const { addSwaggerUi } = await import('./api/swagger-ui.ts');
    await addSwaggerUi(server, documented.document());
  }
  database.start();
  await server.ready();
  return listening;
}

function contextOf(
  dependencies: ManagementDependencies,
  write: WritePath,
  database: DatabaseCheck,
): Omit<ManagementContext, 'signIn'> {
  const { repository } = dependencies;
  return {
    repository:
      dependencies.copy === undefined ? repository : readingThroughOutages(repository, dependencies.copy),
    backups: { repository, programVersion: dependencies.version },
    database,
    filteredReads: new FilteredReads(),
    nodes: dependencies.nodes,
    write,
    change: createChangePath(write, () => dependencies.clock.nowMs()),
    clock: dependencies.clock,
    policyGlobals: dependencies.policyGlobals,
    limitSettings: dependencies.limitSettings,
    egress: dependencies.egress,
    jwtDefaults: dependencies.jwtDefaults,
    status: dependencies.status,
    shadow: dependencies.shadow,
    explain: dependencies.explain,
    live: dependencies.live,
    events: () => repository.events,
    secrets: () => repository.secrets,
    webhooks: {
      states: async () => repository.deliveries.states(),
      nowMs: async () => repository.deliveries.nowMs(),
      test: dependencies.testWebhook,
    },
    eventFeed: new EventFeed(repository),
    profiles: dependencies.profiles,
    trials: dependencies.trials,
    convertDescription: dependencies.convertDescription,
    settings: dependencies.settings,
    served: dependencies.served,
    ownListener: dependencies.ownListener,
    metricsText: dependencies.metricsText,
    hasEnvironmentToken: dependencies.adminToken !== undefined,
  };
}

/** Nothing is committed once another process has read the configuration. */
function gated(dependencies: WriteDependencies, gate: WriteGate): WriteDependencies {
  return {
    ...dependencies,
    validateChange: async (change, missed) => {
      await dependencies.validateChange(change, missed);
      gate.assertOpen();
    },
  };
}

/** A write that the database refuses is a reason to test it. */
function watchedWrites(
  write: WritePath,
  database: DatabaseCheck,
  mayWrite: () => Promise<void>,
  gate: WriteGate,
): WritePath {
  return async (origin, work, dryRun) => {
    await mayWrite();
    try {
      const run = () => write(origin, work, dryRun);
      const result = await (dryRun === undefined ? gate.run(run) : run());
      if (!isFailure(result)) database.wrote();
      return result;
    } catch (error) {
      if (error instanceof StorageUnavailable) database.suspect(error);
      throw error;
    }
  };
}

/**
 * The document also describes its own operation. It is created when it is first requested, so that a start does
 * not wait for it.
 */
function openApiOperation(
  operations: readonly Operation[],
  version: string,
): { readonly operation: Operation; readonly document: () => JsonObject } {
  // As bytes, so that all connections that wait for their client share them.
  let text: Buffer | undefined;
  const operation: Operation = {
    method: 'GET',
    path: `${API_PREFIX}/openapi.json`,
    operationId: 'getOpenApi',
    tag: 'Service',
    summary: 'This document',
    access: 'public',
    query: NO_QUERY,
    entityTag: false,
    success: { status: 200, description: 'An OpenAPI 3.1 document', schema: { type: 'object' } },
    failures: [],
    handle: async () => {
      text ??= Buffer.from(JSON.stringify(document()));
      return { status: 200, headers: { 'Content-Type': JSON_TYPE }, body: text };
    },
  };
  const document = (): JsonObject => openApiDocument([...operations, operation], version);
  return { operation, document };
}
