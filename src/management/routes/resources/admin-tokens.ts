/**
 * Admin tokens: created and deleted, never changed. The last one with the role `admin` stays, unless
 * GATEWAY_ADMIN_TOKEN is set: otherwise the gateway could not be managed any more.
 */
import { secretBytes } from '../../../lib/ids.ts';
import type { AdminToken, StoredAdminToken } from '../../../model/resources.ts';
import {
  AdminTokenInputSchema,
  AdminTokenSchema,
  CreatedAdminTokenSchema,
  type AdminTokenInput,
} from '../../schemas/admin-token.ts';
import { PAGE_LIMIT_MAX } from '../../schemas/common.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import {
  ADMIN_TOKEN_PREFIX,
  createToken,
  SECRET_BYTES,
  tokenDisplayPrefix,
  tokenHash,
} from '../../../model/token.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { fail, invalid, type Failure } from '../../api/failure.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { readExpiry } from '../../write/rules/times.ts';
import { NOTHING_TOUCHED } from '../../write/write.ts';

/** As read from the repository: lists omit the hash. */
type Listed = AdminToken & Partial<Pick<StoredAdminToken, 'token_hash'>>;

export function adminTokens(hasEnvironmentToken: boolean): Resource<object, AdminTokenInput, Listed> {
  return {
    type: 'admin_token',
    names: ['Admin token', 'Admin tokens'],
    operationNames: ['AdminToken', 'AdminTokens'],
    tag: 'Admin',
    collection: '/admin/tokens',
    parameter: 'admin_token_id',
    dryRun: false,
    access: { read: 'admin', write: 'admin' },
    inputSchema: jsonSchema(AdminTokenInputSchema),
    schema: jsonSchema(AdminTokenSchema),
    createdSchema: jsonSchema(CreatedAdminTokenSchema),
    example: { input: { name: 'deployment pipeline', role: 'editor' } },
    scope: async () => ({}),
    list: (reader, _scope, page) => reader.listAdminTokens(page),
    find: (reader, _scope, reference) => reader.findAdminToken(reference),
    build: buildAdminToken,
    async insert(writer, record) {
      const { token_hash } = record;
      if (token_hash === undefined) throw new Error('An admin token was built without its hash');
      await writer.insertAdminToken({ ...record, token_hash });
    },
    remove: (writer, record) => writer.deleteAdminToken(record.id),
    keep: async (rules, record) =>
      hasEnvironmentToken || record.role !== 'admin' || (await hasOtherAdmin(rules, record.id))
        ? undefined
        : fail('conflict', 'This is the last admin token with the role "admin"; create another one first'),
    writable: ({ name, role, expires_at }) => ({ name, role, expires_at }),
    present({ token_hash: _hash, ...served }) {
      return served;
    },
    nameOf: ({ name }) => name,
    touched: () => NOTHING_TOUCHED,
  };
}

async function buildAdminToken(
  input: AdminTokenInput,
  base: RecordBase,
  _previous: Listed | undefined,
  _scope: object,
  rules: RuleContext,
): Promise<Built<Listed> | Failure> {
  const expiry = readExpiry(input.expires_at, undefined, rules);
  if ('errors' in expiry) return invalid(expiry.errors);
  const token = createToken(ADMIN_TOKEN_PREFIX, secretBytes(SECRET_BYTES));
  return {
    record: {
      ...base,
      name: input.name,
      role: input.role,
      token_prefix: tokenDisplayPrefix(token),
      token_hash: tokenHash(token),
      expires_at: expiry.value,
      last_used_at: null,
    },
    shownOnce: { token },
  };
}

/** Whether another admin token exists that does not expire: an expiring one would only postpone the lock-out. */
async function hasOtherAdmin({ reader }: RuleContext, id: string): Promise<boolean> {
  let after: string | undefined;
  do {
    const page = await reader.listAdminTokens({ limit: PAGE_LIMIT_MAX, after });
    if (page.items.some((token) => token.id !== id && token.role === 'admin' && token.expires_at === null)) {
      return true;
    }
    after = page.nextAfter ?? undefined;
  } while (after !== undefined);
  return false;
}
