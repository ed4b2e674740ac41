/**
 * `POST /api/v1/tokens/introspect`: the owner of an API key, and whether the proxy would accept it now. Modelled on
 * RFC 7662 (section 2.2), in this API's envelope: a value that does not exist is `active: false` and not an error.
 * The value is in the body, so that no log of paths contains it; it is hashed at once, and neither logged nor
 * returned. It is a read: nothing is audited, and `last_used_at` stays.
 */
import { importedTokenError } from '../../model/imported-token.ts';
import type { App, StoredApiKey } from '../../model/resources.ts';
import {
  INTROSPECTED_TOKEN_CHARS_MAX,
  IntrospectInputSchema,
  IntrospectionSchema,
  type InactiveReason,
  type IntrospectInput,
} from '../schemas/introspection.ts';
import { envelopeSchema } from '../schemas/envelope.ts';
import { jsonSchema } from '../../model/json-schema.ts';
import { API_KEY_PREFIX, tokenHash } from '../../model/token.ts';
import type { ConfigReader } from '../../storage/repository.ts';
import type { ManagementContext } from '../context.ts';
import { answer } from '../api/failure.ts';
import { API_PREFIX, type Operation } from '../api/operation.ts';
import { NO_QUERY } from '../api/query.ts';
import { presentKey, tokens } from './resources/tokens.ts';

export function introspectOperation(context: ManagementContext): Operation {
  return {
    method: 'POST',
    path: `${API_PREFIX}/tokens/introspect`,
    operationId: 'introspectToken',
    tag: tokens.tag,
    summary: 'Find the token of a value, and whether it works',
    description:
      'Works for the tokens of all apps. For a value that is not a token of this gateway, the answer is 200 with `active` false, as in RFC 7662.',
    // Only roles that may create and rotate keys handle their values.
    access: 'editor',
    query: NO_QUERY,
    body: {
      schema: jsonSchema(IntrospectInputSchema),
      required: true,
      mergePatch: false,
      example: { token: `${API_KEY_PREFIX}${'0'.repeat(49)}` },
    },
    entityTag: false,
    success: {
      status: 200,
      description: 'What is known about the value',
      schema: jsonSchema(envelopeSchema('TokenIntrospectionEnvelope', IntrospectionSchema)),
    },
    failures: [],
    handle: async (call) => {
      const { token } = call.body as IntrospectInput;
      const found = await context.repository.read((reader) =>
        introspect(reader, token, context.clock.nowMs()),
      );
      return answer(200, 'Token introspected', found);
    },
  };
}

type Introspection = { readonly active: boolean } & Readonly<Record<string, unknown>>;

const inactive = (reason: InactiveReason): Introspection => ({ active: false, reason });

async function introspect(reader: ConfigReader, token: string, nowMs: number): Promise<Introspection> {
  if (token.length > INTROSPECTED_TOKEN_CHARS_MAX) return inactive('malformed');
  if (importedTokenError(token) !== undefined) return inactive('malformed');
  const hash = tokenHash(token);
  const key = await reader.findKeyByHash(hash);
  const app = key === undefined ? undefined : await reader.findApp(key.app_id);
  if (key === undefined || app === undefined) return inactive('unknown');
  return describe(key, app, key.token_hash === hash, nowMs);
}

/** The same decision as in src/policy/parts/auth/api-key.ts. */
function describe(key: StoredApiKey, app: App, isCurrent: boolean, nowMs: number): Introspection {
  const overlapEndsAt = isCurrent ? null : key.previous_expires_at;
  const validUntil = earlier(key.expires_at, overlapEndsAt);
  const reason = inactiveReason(key, validUntil, overlapEndsAt, nowMs);
  return {
    active: reason === null,
    reason,
    is_current_value: isCurrent,
    valid_until: validUntil,
    app_slug: app.slug,
    app_name: app.name,
    ...presentKey(key),
  };
}

function inactiveReason(
  key: StoredApiKey,
  validUntil: string | null,
  overlapEndsAt: string | null,
  nowMs: number,
): InactiveReason | null {
  if (!key.is_active) return 'disabled';
  if (validUntil === null || nowMs < Date.parse(validUntil)) return null;
  return validUntil === overlapEndsAt ? 'replaced' : 'expired';
}

/** The earlier of two RFC 3339 times, where null means never. */
function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return Date.parse(other) <= Date.parse(one) ? other : one;
}
