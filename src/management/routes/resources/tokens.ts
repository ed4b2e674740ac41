/**
 * API keys, which the contract calls tokens (part 2 "API key" and part 5). Only creation and rotation show the value;
 * the database stores its SHA-256. A creation may bring an existing value; rotation always generates one. A write
 * touches the key alone, so no route is recompiled.
 */
import { timestamp } from '../../../lib/clock.ts';
import { secretBytes } from '../../../lib/ids.ts';
import {
  importedDisplayPrefix,
  importedTokenError,
  hashDisplayPrefix,
} from '../../../model/imported-token.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { App, StoredApiKey } from '../../../model/resources.ts';
import { rateLimitErrors } from '../../../policy/parts/rate-limit/part.ts';
import {
  ApiKeyCreationSchema,
  ApiKeyInputSchema,
  ApiKeySchema,
  CreatedApiKeySchema,
  RotateInputSchema,
  type ApiKeyCreation,
  type ApiKeyInput,
  type DeclaredKeyValue,
  type RotateInput,
} from '../../schemas/api-key.ts';
import { envelopeSchema } from '../../schemas/envelope.ts';
import { jsonSchema } from '../../../model/json-schema.ts';
import {
  API_KEY_PREFIX,
  createToken,
  SECRET_BYTES,
  tokenDisplayPrefix,
  tokenHash,
} from '../../../model/token.ts';
import { parentNames } from '../../write/audit-names.ts';
import type { ManagementContext } from '../../context.ts';
import type { RuleContext } from '../../write/rule-context.ts';
import { itemPath, locate, rulesOf } from '../../crud/locate.ts';
import { checkIfMatch, entityTag } from '../../api/entity-tag.ts';
import { answer, conflict, invalid, isFailure, type Failure } from '../../api/failure.ts';
import type { Operation } from '../../api/operation.ts';
import { NO_QUERY } from '../../api/query.ts';
import type { Built, RecordBase, Resource } from '../../crud/resource.ts';
import { readExpiry } from '../../write/rules/times.ts';
import { rotationWarnings, tokenWarnings } from '../../write/warnings/token.ts';
import { nextUpdatedAt } from '../../write/write.ts';
import { findAppScope } from './apps.ts';

interface Scope {
  readonly app: App;
}

export const tokens: Resource<Scope, ApiKeyInput, StoredApiKey> = {
  type: 'token',
  names: ['Token', 'Tokens'],
  operationNames: ['Token', 'Tokens'],
  tag: 'Tokens',
  collection: '/apps/{app_id}/tokens',
  parameter: 'token_id',
  filteredAs: 'api_key',
  dryRun: true,
  access: { read: 'viewer', write: 'editor' },
  inputSchema: jsonSchema(ApiKeyInputSchema),
  creationSchema: jsonSchema(ApiKeyCreationSchema),
  adminFields: ['token'],
  schema: jsonSchema(ApiKeySchema),
  createdSchema: jsonSchema(CreatedApiKeySchema),
  example: { input: { name: 'mobile app', scopes: ['invoices:read'] }, patch: { is_active: false } },
  scope: findAppScope,
  list: (reader, { app }, page) => reader.listKeys(app.id, page),
  find: (reader, { app }, reference) => reader.findKey(app.id, reference),
  build: buildKey,
  insert: (writer, key) => writer.insertKey(key),
  async update(writer, key) {
    await writer.updateKey(key);
    return undefined;
  },
  nameOf: ({ name }) => name,
  remove: (writer, key) => writer.deleteKey(key.id),
  writable: ({ name, scopes, is_active, expires_at, rate_limit }) => ({
    name,
    scopes,
    is_active,
    expires_at,
    rate_limit,
  }),
  present: presentKey,
  warnings: (rules, { app }, key) => tokenWarnings(app, key, rules),
  touched: (_scope, key) => ({ appIds: [], versionIds: [], keyIds: [key.id] }),
};

/** The served form of a key: without its hashes. */
export function presentKey(key: StoredApiKey): Readonly<Record<string, unknown>> {
  const { token_hash: _hash, previous_token_hash: _previous, ...served } = key;
  return served;
}

async function buildKey(
  input: ApiKeyInput,
  base: RecordBase,
  previous: StoredApiKey | undefined,
  { app }: Scope,
  rules: RuleContext,
): Promise<Built<StoredApiKey> | Failure> {
  const expiry = readExpiry(input.expires_at, previous?.expires_at, rules);
  const errors = [...('errors' in expiry ? expiry.errors : []), ...planErrors(input.rate_limit, rules)];
  // Only a creation or a declared key can have one.
  const imported = importedValue(input, rules);
  errors.push(...(imported?.errors ?? []));
  if (errors.length > 0 || 'errors' in expiry) return invalid(errors);
  const written = {
    name: input.name,
    scopes: input.scopes ?? [],
    is_active: input.is_active ?? true,
    expires_at: expiry.value,
    rate_limit: input.rate_limit ?? null,
  };
  const isKept = imported === undefined || imported.token_hash === previous?.token_hash;
  if (previous !== undefined && isKept) return { record: { ...previous, ...written } };
  const { token, token_prefix, token_hash } = imported ?? newValue();
  if (imported !== undefined) {
    // The value before a rotation counts too, because a value identifies one key. The answer does not say which key has
    // it.
    const known = await rules.reader.findKeyByHash(token_hash);
    if (known !== undefined && known.id !== previous?.id)
      return conflict(imported.pointer, 'is already taken');
  }
  const record: StoredApiKey = {
    ...base,
    app_id: app.id,
    ...written,
    token_prefix,
    token_hash,
    last_used_at: previous?.last_used_at ?? null,
    previous_token_hash: null,
    previous_expires_at: null,
  };
  return { record, ...(token !== undefined && { shownOnce: { token } }) };
}

/** In the plan of a key, an absent `enabled` means true; the plan must then be complete. */
function planErrors(plan: ApiKeyInput['rate_limit'], rules: RuleContext): FieldError[] {
  if (!plan) return [];
  const pointer = '/rate_limit';
  const inForce = { ...plan, enabled: plan.enabled ?? true };
  const errors = rateLimitErrors(inForce, rules.policyGlobals, pointer);
  if (plan.per?.startsWith('claim:') !== true) return errors;
  return [
    ...errors,
    {
      pointer: `${pointer}/per`,
      detail: `"${plan.per}" needs a JWT, but callers with a JWT have no API key`,
    },
  ];
}

interface KeyValue {
  readonly token: string;
  readonly token_prefix: string;
  readonly token_hash: string;
}

interface ImportedValue extends Omit<KeyValue, 'token'> {
  /** undefined: only its hash is known. */
  readonly token: string | undefined;
  readonly pointer: string;
  readonly errors: readonly FieldError[];
}

/** An existing value, or its hash, from a creation or a declared key; undefined when neither is given. */
function importedValue(
  input: ApiKeyInput,
  { keyBlinding }: Pick<RuleContext, 'keyBlinding'>,
): ImportedValue | undefined {
  const stored = (real: string): string =>
    keyBlinding === undefined ? real : tokenHash(`${keyBlinding} ${real}`);
  const { token, token_sha256: hash } = input as ApiKeyCreation & DeclaredKeyValue;
  if (token !== undefined) {
    const pointer = '/token';
    const weakness = importedTokenError(token);
    const errors = weakness === undefined ? [] : [{ pointer, detail: weakness }];
    if (hash !== undefined) errors.push({ pointer, detail: 'cannot be given together with token_sha256' });
    return {
      token,
      token_prefix: importedDisplayPrefix(token),
      token_hash: stored(tokenHash(token)),
      pointer,
      errors,
    };
  }
  if (hash === undefined) return undefined;
  const pointer = '/token_sha256';
  return { token, token_prefix: hashDisplayPrefix(hash), token_hash: stored(hash), pointer, errors: [] };
}

/** SHA-256 of the value that a declared key has; undefined where the item gives none. */
export function declaredTokenHash({ token, token_sha256: hash }: DeclaredKeyValue): string | undefined {
  return token === undefined ? hash : tokenHash(token);
}

function newValue(): KeyValue {
  const token = createToken(API_KEY_PREFIX, secretBytes(SECRET_BYTES));
  return { token, token_prefix: tokenDisplayPrefix(token), token_hash: tokenHash(token) };
}

/**
 * `POST …/rotate`: a new value for the key. The old value stays valid for `overlap_secs`; the value before it stops at
 * once.
 */
export function rotateOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${itemPath(tokens)}/rotate`,
    operationId: 'rotateToken',
    tag: tokens.tag,
    summary: 'Give a token a new value',
    description:
      'The old value stays valid for `overlap_secs`. Another rotation within this time ends the earlier overlap.',
    access: 'editor',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(RotateInputSchema),
      required: false,
      mergePatch: false,
      example: { overlap_secs: 3600 },
    },
    entityTag: true,
    isWrite: true,
    success: {
      status: 200,
      description: 'The token with its new value',
      schema: jsonSchema(envelopeSchema('CreatedTokenEnvelope', CreatedApiKeySchema)),
    },
    failures: [],
    handle: (call) =>
      context.write(call, async (writer) => {
        const located = await locate(tokens, writer, call.params);
        if (isFailure(located)) return located;
        const { scope, record: previous } = located;
        const stale = checkIfMatch(call.ifMatch, entityTag(presentKey(previous)));
        if (stale !== undefined) return stale;
        const overlapSecs = (call.body as RotateInput | undefined)?.overlap_secs ?? 0;
        const nowMs = context.clock.nowMs();
        const { token, ...value } = newValue();
        const key: StoredApiKey = {
          ...previous,
          ...value,
          updated_at: nextUpdatedAt(previous.updated_at, nowMs),
          previous_token_hash: overlapSecs === 0 ? null : previous.token_hash,
          previous_expires_at: overlapSecs === 0 ? null : timestamp(nowMs + overlapSecs * 1000),
        };
        await writer.updateKey(key);
        const served = presentKey(key);
        return {
          answer: answer(200, 'Token rotated', { ...served, token }, { ETag: entityTag(served) }),
          touched: tokens.touched(scope, key),
          warnings: () => rotationWarnings(key, rulesOf(context, writer)),
          audit: {
            action: 'token.rotate',
            resourceType: 'token',
            resourceId: key.id,
            resourceName: key.name,
            parents: parentNames(scope),
            change: { token_prefix: key.token_prefix, overlap_secs: overlapSecs },
          },
        };
      }),
  };
}
