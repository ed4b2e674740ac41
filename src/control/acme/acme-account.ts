/**
 * The account at the directory. Its key is stored before the directory receives it, so that there is only one
 * account even if the gateway ends in between.
 */
import { timestamp, type Clock } from '../../lib/clock.ts';
import type { AcmeStore, AcmeWriter } from '../../storage/acme-store.ts';
import { accountKey, newAccountKey, type AccountKey } from './account-key.ts';
import type { AcmeClient } from './acme-client.ts';

export interface AccountParts {
  readonly client: AcmeClient;
  readonly store: AcmeStore;
  readonly writer: AcmeWriter;
  readonly directory: string;
  readonly clock: Clock;
}

/**
 * Finds or creates the account, whose key then signs the requests of the client.
 * @throws DirectoryUnavailable, AcmeProblem, AcmeLeaseLost, StorageUnavailable
 */
export async function prepareAccount(parts: AccountParts): Promise<AccountKey> {
  const { client, store, writer, directory, clock } = parts;
  const stored = await store.account(directory);
  const key = stored === undefined ? await newAccountKey() : await accountKey(stored.privateKey);
  const createdAt = timestamp(clock.nowMs());
  if (stored === undefined)
    await writer.putAccount({ directory, privateKey: key.pem, url: undefined }, createdAt);
  client.use(key, stored?.url);
  if (stored?.url !== undefined) return key;
  const url = await client.newAccount();
  await writer.putAccount({ directory, privateKey: key.pem, url }, createdAt);
  return key;
}
