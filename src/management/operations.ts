/** The list of all operations, in the order in which the API is documented. */
import type { ManagementContext } from './context.ts';
import { crud } from './crud/crud.ts';
import type { Operation } from './api/operation.ts';
import { adminTokens } from './routes/resources/admin-tokens.ts';
import { apps } from './routes/resources/apps.ts';
import { auditOperation } from './routes/audit.ts';
import { bisectOperation } from './routes/config-bisect.ts';
import { backupOperation } from './routes/backup.ts';
import { configOperations } from './routes/config.ts';
import { configFileOperation } from './routes/config-file-state.ts';
import { historyOperations } from './routes/config-history.ts';
import { rollbackOperation } from './routes/config-rollback.ts';
import { effectivePolicyOperations } from './routes/resources/effective-policy.ts';
import { endpoints } from './routes/resources/endpoints.ts';
import { eventsOperation } from './routes/events/event-operations.ts';
import { explainOperations } from './routes/explain/explain.ts';
import { debugTokenOperations, samplingOperations } from './routes/explain/explain-setup.ts';
import { explainVersionsOperation } from './routes/explain/explain-versions.ts';
import { liveOperations } from './routes/explain/live.ts';
import { introspectOperation } from './routes/introspect.ts';
import { nodesOperation } from './routes/nodes.ts';
import {
  activationOperations,
  breakerOperation,
  healthOperation,
  revisions,
} from './routes/resources/revisions.ts';
import { profileOperation } from './routes/profiles.ts';
import { serviceOperations } from './routes/service.ts';
import { searchOperation } from './routes/overview/searching.ts';
import { secretOperations } from './routes/overview/secrets.ts';
import { certificateOperations } from './routes/overview/certificates.ts';
import { stateOperation } from './routes/overview/gateway-state.ts';
import { settingsOperation } from './routes/overview/shown-settings.ts';
import { sessionOperations } from './sessions/session-operations.ts';
import { importOperation } from './import/import-operation.ts';
import { shadowOperations } from './routes/shadow.ts';
import { treeOperation } from './routes/overview/app-tree.ts';
import { problemsOperation } from './routes/overview/problems.ts';
import { statsOperations } from './stats/stats-operations.ts';
import { transactionOperation } from './routes/transaction.ts';
import { trafficOperations } from './routes/traffic.ts';
import { tryOperation } from './try/try-operation.ts';
import { tokenUsageOperation } from './routes/resources/token-usage.ts';
import { rotateOperation, tokens } from './routes/resources/tokens.ts';
import { deliveryOperations } from './routes/events/webhook-deliveries.ts';
import { rotateWebhookOperation, webhooks } from './routes/events/webhooks.ts';
import { versions } from './routes/resources/versions.ts';

export function allOperations(context: ManagementContext): Operation[] {
  const operations = [
    ...crud(apps, context),
    treeOperation(context),
    ...crud(versions, context),
    ...trafficOperations(context),
    ...crud(revisions, context),
    ...activationOperations(context),
    breakerOperation(context),
    healthOperation(context),
    ...crud(endpoints, context),
    ...effectivePolicyOperations(context),
    ...shadowOperations(context),
    ...crud(tokens, context),
    rotateOperation(context),
    tokenUsageOperation(context),
    introspectOperation(context),
    ...crud(adminTokens(context.hasEnvironmentToken), context),
    ...sessionOperations(context.signIn),
    auditOperation(context),
    ...crud(webhooks, context),
    rotateWebhookOperation(context),
    ...deliveryOperations(context),
    ...configOperations(context),
    configFileOperation(context),
    importOperation(context),
    bisectOperation(context),
    backupOperation(context),
    ...historyOperations(context),
    rollbackOperation(context),
    // Before explainOperations: their more general path `/explain/{request_id}` would match these.
    ...samplingOperations(context),
    ...debugTokenOperations(context),
    explainVersionsOperation(context),
    ...explainOperations(context),
    tryOperation(context),
    ...liveOperations(context),
    eventsOperation(context),
    ...serviceOperations(context),
    nodesOperation(context),
    stateOperation(context),
    ...certificateOperations(context),
    settingsOperation(context),
    ...secretOperations(context),
    searchOperation(context),
    ...statsOperations(context),
    problemsOperation(context),
    profileOperation(context),
  ];
  return [...operations, transactionOperation(context, operations, transactionMembers)];
}

/** The operations that can be part of a transaction: those on records of the configuration, except lists. */
function transactionMembers(context: ManagementContext): Operation[] {
  const members = [
    ...crud(apps, context),
    ...crud(versions, context),
    ...trafficOperations(context),
    ...crud(revisions, context),
    ...activationOperations(context),
    ...crud(endpoints, context),
    ...effectivePolicyOperations(context),
    ...crud(tokens, context),
    rotateOperation(context),
  ];
  return members.filter(({ operationId }) => !operationId.startsWith('list'));
}
