/**
 * What surrounds the resources: the success envelope, lists, problems (RFC 9457), health, the audit log and
 * effective policies.
 */
import { Type, type TSchema } from 'typebox';
import { ERRORS } from '../errors.ts';
import { WARNINGS } from '../warnings.ts';
import { nullable } from '../policy.ts';
import { closed, dateTime, id, NamedPolicySchema, PAGE_LIMIT_MAX } from './common.ts';

export const WarningSchema = Type.Object(
  {
    pointer: Type.String({ description: 'RFC 6901 pointer into the record; empty: the record as a whole.' }),
    code: Type.Union(
      Object.keys(WARNINGS).map((code) => Type.Literal(code)),
      { title: 'WarningCode', description: 'Stable; programs may depend on it.' },
    ),
    detail: Type.String(),
  },
  { ...closed, title: 'Warning', description: 'Something that is valid and surely not meant.' },
);

/** `{"status", "message", "data"}` around one thing, with `warnings` where there are some. */
export function envelopeSchema(title: string, data: TSchema) {
  return Type.Object(
    {
      status: Type.Integer({ description: 'The HTTP status.' }),
      message: Type.String(),
      data,
      warnings: Type.Optional(
        Type.Array(WarningSchema, { minItems: 1, description: 'Absent when there are none.' }),
      ),
    },
    { ...closed, title },
  );
}

export const PageSchema = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: PAGE_LIMIT_MAX }),
    next_cursor: nullable(
      Type.String({ description: 'Give as `cursor` for the next page; null on the last.' }),
    ),
    total: Type.Integer({ minimum: 0, description: 'Number of items over all pages.' }),
  },
  { ...closed, title: 'Page' },
);

export function listSchema(title: string, item: TSchema) {
  return Type.Object(
    { status: Type.Integer(), message: Type.String(), data: Type.Array(item), page: PageSchema },
    { ...closed, title },
  );
}

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: '`urn:headgate:error:<code>`' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'Path of the request.' }),
    code: Type.Union(
      Object.keys(ERRORS).map((code) => Type.Literal(code)),
      { title: 'ErrorCode', description: 'Stable; programs may depend on it.' },
    ),
    message: Type.String({ description: 'The same as `detail`.' }),
    data: Type.Null(),
    request_id: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            pointer: Type.String({ description: 'RFC 6901 pointer into the body.' }),
            detail: Type.String(),
          },
          { ...closed, title: 'FieldError' },
        ),
      ),
    ),
  },
  { ...closed, title: 'Problem', description: 'RFC 9457 problem that also reads as the envelope.' },
);

export const HealthSchema = Type.Object(
  {
    db: Type.String({
      description: '`ok` means healthy; `degraded`: it cannot be written; `error`: it does not answer.',
    }),
    db_driver: Type.String(),
    uptime_secs: Type.Integer({ minimum: 0 }),
  },
  { ...closed, title: 'Health' },
);

export const ReadinessSchema = Type.Object(
  { ready: Type.Boolean(), reason: nullable(Type.String()) },
  { ...closed, title: 'Readiness' },
);

export const AuditEntrySchema = Type.Object(
  {
    id: id('UUIDv7.'),
    at: dateTime('When.'),
    actor: Type.String({
      description:
        'Id of the admin token, `environment` for GATEWAY_ADMIN_TOKEN, `anonymous` for a refused login, or `system` for the gateway itself.',
    }),
    action: Type.String({ description: 'For example `version.update`.' }),
    resource_type: Type.String(),
    resource_id: Type.String(),
    resource_name: nullable(
      Type.String({
        description: 'What it was called then: slug, label, method and path, or name; null without one.',
      }),
    ),
    parents: nullable(
      Type.Record(Type.String(), Type.String(), {
        description: 'What the records above it were called, for example `{"app": "billing"}`.',
      }),
    ),
    address: nullable(Type.String({ description: 'Of the client.' })),
    request_id: nullable(Type.String({ description: 'As `X-Request-Id` of the answer.' })),
    config_version: Type.Integer(),
    change: nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'The changed fields.' })),
  },
  { ...closed, title: 'AuditEntry' },
);

export const PolicySourceSchema = Type.Object(
  {
    level: Type.Union(['app', 'revision', 'endpoint', 'global', 'key'].map((level) => Type.Literal(level))),
    id: Type.String(),
  },
  { ...closed, title: 'PolicySource' },
);

export const EffectivePolicySchema = Type.Object(
  {
    policy: NamedPolicySchema,
    sources: Type.Record(Type.String(), PolicySourceSchema, {
      description: 'For each part of the policy, the level that set it.',
    }),
  },
  { ...closed, title: 'EffectivePolicy' },
);
