/**
 * The dry run of a transaction: the answers of its operations, and what would change for which endpoints and keys of
 * all apps that it touches. For a key it only says that it changes, not which endpoints it then opens.
 */
import type { AppTree } from '../../model/config.ts';
import type { StoredApiKey } from '../../model/resources.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import { answer } from '../api/failure.ts';
import type { TransactionAnswer } from '../schemas/transaction.ts';
import { endpointChanges, treeAfter } from '../write/dry-run-effects.ts';
import { presentAnswer, presentEndpoints, presentKeys } from '../write/dry-run.ts';
import type { DryRun } from '../write/write.ts';

export interface TransactionDryRun {
  readonly dryRun: DryRun;
  /**
   * Called before each operation that writes: stores the state before the transaction.
   * @param created ids of apps that the transaction has created
   */
  beforeWrite(
    reader: ConfigReader,
    params: Readonly<Record<string, string>>,
    created: ReadonlySet<string>,
  ): Promise<void>;
}

export function transactionDryRun(): TransactionDryRun {
  const trees = new Map<string, AppTree>();
  const keys = new Map<string, StoredApiKey>();
  return {
    async beforeWrite(reader, { app_id: appRef, token_id: keyId }, created) {
      const app = appRef === undefined ? undefined : await reader.findApp(appRef);
      if (app === undefined || created.has(app.id)) return;
      const key = keyId === undefined || keys.has(keyId) ? undefined : await reader.findKey(app.id, keyId);
      if (key !== undefined) keys.set(key.id, key);
      if (trees.has(app.id)) return;
      const tree = await reader.loadAppTree(app.id);
      if (tree !== undefined) trees.set(app.id, tree);
    },
    dryRun: {
      begin: async () => undefined,
      conclude(real, change) {
        const fresh = (change?.apps ?? []).filter(({ app }) => !trees.has(app.id));
        const changes = [
          ...[...trees.values()].flatMap((tree) =>
            change === undefined ? [] : endpointChanges(tree, treeAfter(tree, change)),
          ),
          ...fresh.flatMap((tree) => endpointChanges(undefined, tree)),
        ];
        return answer(200, 'Dry run: nothing has been changed', {
          would_answer: presentAnswer(real),
          ...presentEndpoints(changes),
          ...presentKeys(change, keys),
        });
      },
    },
  };
}

/** A dry run creates no key, so that there is no value to show. */
export function withoutTokens(given: TransactionAnswer): TransactionAnswer {
  const { body } = given;
  if (body === null || !('data' in body)) return given;
  const { data } = body;
  if (typeof data !== 'object' || data === null || !('token' in data)) return given;
  const { token: _token, ...shown } = data;
  return { ...given, body: { ...body, data: shown } };
}
