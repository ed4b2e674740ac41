/**
 * The schemas around the resources: the success envelope, lists, problems (RFC 9457), health, the audit log and
 * effective policies.
 */
import { Type, type TProperties, type TSchema } from 'typebox';
import { ERRORS } from '../../policy/error-table.ts';
import { WARNINGS } from '../../policy/policy-warnings.ts';
import { closed, dateTime, nullable, oneOf } from '../../model/schema-pieces.ts';
import { PARTS, PolicySchema } from '../../policy/registry.ts';
import { id, PAGE_LIMIT_MAX } from './common.ts';

const WarningSchema = Type.Object(
  {
    pointer: Type.String({ description: 'RFC 6901 pointer to the field. Empty: the record as a whole.' }),
    code: oneOf(Object.keys(WARNINGS), {
      title: 'WarningCode',
      description: 'Stable, so programs may depend on it.',
    }),
    detail: Type.String({ description: 'What is probably a mistake, for people.' }),
  },
  { ...closed, title: 'Warning', description: 'Something that is valid but probably not intended.' },
);

/** `{"status", "message", "data"}` around one thing, with `warnings` where there are some. */
export function envelopeSchema(title: string, data: TSchema) {
  return Type.Object(
    {
      status: Type.Integer({ description: 'The HTTP status.' }),
      message: Type.String({ description: 'What was done, for people.' }),
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
    limit: Type.Integer({
      minimum: 1,
      maximum: PAGE_LIMIT_MAX,
      description: 'Maximum number of items per page.',
    }),
    next_cursor: nullable(
      Type.String({ description: 'Value of `cursor` for the next page. null: this is the last page.' }),
    ),
    total: Type.Integer({ minimum: 0, description: 'Number of items over all pages.' }),
  },
  { ...closed, title: 'Page' },
);

export function listSchema(title: string, item: TSchema) {
  return Type.Object(
    {
      status: Type.Integer({ description: 'The HTTP status.' }),
      message: Type.String({ description: 'What was done, for people.' }),
      data: Type.Array(item, { description: 'The items of the page.' }),
      page: PageSchema,
    },
    { ...closed, title },
  );
}

export const ProblemSchema = Type.Object(
  {
    type: Type.String({ description: '`urn:headgate:error:<code>`' }),
    title: Type.String({ description: 'Title of the code.' }),
    status: Type.Integer({ description: 'The HTTP status.' }),
    detail: Type.String({ description: 'What was wrong with this request, for people.' }),
    instance: Type.String({ description: 'Path of the request.' }),
    code: oneOf(Object.keys(ERRORS), {
      title: 'ErrorCode',
      description: 'Stable, so programs may depend on it.',
    }),
    message: Type.String({ description: 'The same as `detail`.' }),
    data: Type.Null({ description: 'Always null.' }),
    request_id: Type.String({ description: 'Id of the exchange, as in `X-Request-Id` and the log.' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            pointer: Type.String({ description: 'RFC 6901 pointer into the body.' }),
            detail: Type.String({ description: 'What was expected, for people.' }),
          },
          { ...closed, title: 'FieldError' },
        ),
        { description: 'With `validation_failed`: the fields that are wrong.' },
      ),
    ),
  },
  {
    ...closed,
    title: 'Problem',
    description: 'A problem document (RFC 9457) that also has the members of a success.',
  },
);

export const HealthSchema = Type.Object(
  {
    db: Type.String({
      description:
        'State of the database. `ok`: healthy; `degraded`: it cannot be written; `error`: it does not answer.',
    }),
    db_driver: Type.String({
      description: '`sqlite` or `postgres`; `none`: the configuration comes from files.',
    }),
    uptime_secs: Type.Integer({ minimum: 0, description: 'Seconds since the start.' }),
    config_file: Type.Optional(
      Type.String({
        description:
          'Only with `GATEWAY_CONFIG_FILE`. `ok`: the files are in force; `refused`: they have problems, and the previous configuration stays in force.',
      }),
    ),
  },
  { ...closed, title: 'Health' },
);

export const ReadinessSchema = Type.Object(
  {
    ready: Type.Boolean({ description: 'Whether the gateway takes traffic.' }),
    reason: nullable(Type.String({ description: 'Why it does not. null: it does.' })),
  },
  { ...closed, title: 'Readiness' },
);

export const AuditEntrySchema = Type.Object(
  {
    id: id('Id of the entry, a UUIDv7.'),
    at: dateTime('When the write was made.'),
    actor: Type.String({
      description:
        'Id of the admin token, `environment` for GATEWAY_ADMIN_TOKEN, `anonymous` for a refused login, or `system` for the gateway itself.',
    }),
    action: Type.String({ description: 'What was done, for example `version.update`.' }),
    resource_type: Type.String({ description: 'Type of the record, for example `version`.' }),
    resource_id: Type.String({ description: 'Id of the record.' }),
    resource_name: nullable(
      Type.String({
        description:
          'Name of the record at that time: slug, label, method and path, or name. null: it has none.',
      }),
    ),
    parents: nullable(
      Type.Record(Type.String(), Type.String(), {
        description: 'Names of the records above it at that time, for example `{"app": "billing"}`.',
      }),
    ),
    address: nullable(Type.String({ description: 'Address of the client.' })),
    request_id: nullable(
      Type.String({ description: 'Id of the exchange, as in `X-Request-Id` of its answer.' }),
    ),
    config_version: Type.Integer({ description: 'Config version that the write created.' }),
    change: nullable(Type.Record(Type.String(), Type.Unknown(), { description: 'The changed fields.' })),
  },
  { ...closed, title: 'AuditEntry' },
);

export const PolicySourceSchema = Type.Object(
  {
    level: oneOf(['app', 'revision', 'endpoint', 'global', 'key'], {
      description: 'Level that set the part. `global` stands for the settings.',
    }),
    id: Type.String({ description: 'Id of the record of that level.' }),
  },
  { ...closed, title: 'PolicySource' },
);

/** Parts first, then other limits. */
function limitsOfSettings(): TProperties {
  const given = PARTS.flatMap(({ name, settings }) =>
    settings === undefined ? [] : [{ name, ...settings }],
  );
  const all = [...given, ...given.flatMap(({ beside }) => beside ?? [])];
  return Object.fromEntries(all.map(({ name, schema }) => [name, Type.Optional(schema)]));
}

export const EffectivePolicySchema = Type.Object(
  {
    policy: PolicySchema,
    sources: Type.Record(Type.String(), PolicySourceSchema, {
      description: 'Which level set each part of the policy.',
    }),
    settings: Type.Optional(
      Type.Object(limitsOfSettings(), {
        ...closed,
        title: 'SettingsOfPolicy',
        description:
          'Limits from the settings; a part among them applies where no level sets it. Absent if the settings contain no limits.',
      }),
    ),
  },
  { ...closed, title: 'EffectivePolicy' },
);
