/**
 * Explain: the request that a client describes, and the explanation of what the gateway does, or did, with a request.
 * The workers send the same data to the management API, which returns it to the client. It never contains credentials:
 * values of fields that may contain one are `********`.
 */
import { Type, type Static } from 'typebox';
import { ERRORS } from '../policy/error-table.ts';
import { CALLER_KINDS } from '../model/auth/caller-kinds.ts';
import type { ErrorCode } from '../model/errors.ts';
import { FIX_ACTIONS, LIMIT_KINDS } from '../policy/part-explain.ts';
import { STAGE_NAMES } from '../policy/registry.ts';
import { ONE_LINE_PATTERN } from '../model/patterns.ts';
import { closed, dateTime, nullable, oneOf } from '../model/schema-pieces.ts';

export type { FixAction } from '../policy/part-explain.ts';

/** Replaces a credential. */
export const REDACTED = '********';

export const ExplainInputSchema = Type.Object(
  {
    method: Type.String({ minLength: 1, maxLength: 128, pattern: ONE_LINE_PATTERN }),
    url: Type.String({
      minLength: 1,
      maxLength: 65_536,
      pattern: ONE_LINE_PATTERN,
      description:
        'A path with its query, or a whole http(s) URL, whose authority becomes the Host field. Where the gateway has a port with TLS beside one without, `http:` or `https:` says at which of them the request arrives; a path alone arrives over TLS.',
    }),
    host: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_024,
        pattern: ONE_LINE_PATTERN,
        description:
          'Value of the Host field, in place of the authority of `url`. A Host field in `headers` has precedence.',
      }),
    ),
    headers: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[^\\r\\n:]+$' }),
        Type.Union([
          Type.String({ maxLength: 65_536, pattern: ONE_LINE_PATTERN }),
          Type.Array(Type.String({ maxLength: 65_536, pattern: ONE_LINE_PATTERN }), {
            minItems: 1,
            maxItems: 200,
          }),
        ]),
        {
          ...closed,
          maxProperties: 200,
          description: 'Header fields by name; a list is sent as several fields.',
        },
      ),
    ),
    client_ip: Type.Optional(
      Type.String({
        maxLength: 64,
        default: '127.0.0.1',
        description:
          'Address of the connection. X-Forwarded-For is used when this address is a trusted proxy.',
      }),
    ),
    token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 16_384,
        pattern: ONE_LINE_PATTERN,
        writeOnly: true,
        description:
          'Short for `Authorization: Bearer <token>`, or for the field that the `auth.in` of the route names. It is not stored, logged or returned.',
      }),
    ),
    client_certificate: Type.Optional(
      Type.String({
        maxLength: 65_536,
        description:
          'Certificates in PEM that the client presents in its TLS handshake, its own first. The private key is not needed.',
      }),
    ),
    body_bytes: Type.Optional(
      Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Length of the body.' }),
    ),
  },
  { ...closed, title: 'ExplainInput', description: 'A request as a client would send it.' },
);
export type ExplainInput = Static<typeof ExplainInputSchema>;

/** In the order in which a request passes them; docs/explanation/request-path.md. */
export const STAGES: readonly string[] = [
  'head',
  'acme_challenge',
  'https_redirect',
  'path',
  'route',
  'preflight',
  ...STAGE_NAMES,
  'last_hop',
  'circuit_breaker',
  'forward',
];
export type StageName = string;

const VERDICTS = ['passed', 'answered', 'denied', 'would_deny', 'skipped', 'not_applicable'] as const;
export type Verdict = (typeof VERDICTS)[number];

export const OUTCOMES = ['forwarded', 'answered', 'denied', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

const LEVELS = ['app', 'revision', 'endpoint', 'global', 'key'] as const;

const errorCode = Type.Unsafe<ErrorCode>(
  oneOf(Object.keys(ERRORS), { title: 'ErrorCode', description: 'Stable; programs may depend on it.' }),
);

const HeaderFieldSchema = Type.Object(
  { name: Type.String(), value: Type.String() },
  { ...closed, title: 'HeaderField' },
);
export type HeaderField = Static<typeof HeaderFieldSchema>;

const CandidateSchema = Type.Object(
  {
    id: Type.String(),
    revision: Type.String({ description: 'Label.' }),
    is_current: Type.Boolean(),
    traffic_weight: Type.Integer(),
    share: Type.Number({ description: 'Fraction of such requests that it gets now, 0 to 1.' }),
    breaker: oneOf(['closed', 'open', 'half_open', 'none']),
    candidate: Type.Boolean({ description: 'Whether the request could go to it.' }),
    chosen: Type.Boolean(),
    reason: Type.String({ description: 'Why it is a candidate or not.' }),
  },
  { ...closed, title: 'ExplainedCandidate' },
);
export type Candidate = Static<typeof CandidateSchema>;

const TargetSchema = Type.Object(
  {
    target: Type.String({ description: 'Host and port of the target.' }),
    zone: nullable(Type.String()),
    algorithm: oneOf(['least_requests', 'round_robin', 'hash']),
    source: nullable(
      Type.String({ description: 'Where discovery has found it, for people. null: it is written.' }),
    ),
    reason: Type.String({ description: 'Why this target, for people.' }),
    targets: Type.Array(
      Type.Object(
        {
          target: Type.String({ description: 'Host and port.' }),
          weight: Type.Integer(),
          state: oneOf(['in_service', 'warming', 'ejected', 'unhealthy']),
          in_flight: Type.Integer({ description: 'Requests under way, over all workers.' }),
        },
        { ...closed, title: 'ExplainedTargetState' },
      ),
      { description: 'All targets of the revision when this was written down; at most 64.' },
    ),
  },
  {
    ...closed,
    title: 'ExplainedTarget',
    description:
      'Target of the latest attempt, for a revision with several targets. Absent: the revision has only one.',
  },
);
export type ExplainedTarget = Static<typeof TargetSchema>;

const StageSchema = Type.Object(
  {
    stage: Type.Unsafe<StageName>(oneOf(STAGES)),
    verdict: oneOf(VERDICTS),
    code: nullable(errorCode),
    detail: nullable(Type.String()),
    level: nullable(oneOf(LEVELS, { description: 'Which level set the deciding value.' })),
    source_id: nullable(Type.String({ description: 'Id of the record of that level.' })),
    value: Type.Unknown({ description: 'The deciding value, without secrets.' }),
  },
  { ...closed, title: 'ExplainedStage' },
);
export type ExplainedStage = Static<typeof StageSchema>;

const LimitSchema = Type.Object(
  {
    kind: oneOf(LIMIT_KINDS),
    counter: Type.String({
      description: 'The level that set the limit, and which requests it counts.',
    }),
    algorithm: nullable(Type.String()),
    limit: Type.Integer(),
    remaining: Type.Integer({ description: 'Requests left after this one, if it were sent now.' }),
    reset_secs: nullable(Type.Integer()),
    retry_after_secs: nullable(Type.Integer()),
    admitted: Type.Boolean(),
  },
  { ...closed, title: 'ExplainedLimit' },
);
export type ExplainedLimit = Static<typeof LimitSchema>;

const FixSchema = Type.Object(
  {
    action: oneOf(FIX_ACTIONS),
    detail: Type.String({ description: 'The change in words.' }),
    target: nullable(
      Type.Object(
        {
          type: oneOf(['app', 'version', 'revision', 'endpoint', 'token', 'setting']),
          id: Type.String({ description: 'Id of the record, or name of the setting.' }),
        },
        closed,
      ),
    ),
    value: Type.Unknown({
      description: 'What to set, in the words of the management API; for `wait`, seconds.',
    }),
    call: Type.Optional(
      nullable(
        Type.Object(
          {
            method: oneOf(['POST', 'PATCH']),
            path: Type.String({ description: 'Below the management address.' }),
            content_type: Type.String(),
            body: nullable(Type.Record(Type.String(), Type.Unknown())),
            if_match: nullable(
              Type.String({
                description:
                  'Entity tag of the record as it is now, for `If-Match`; null: the record does not exist yet.',
              }),
            ),
            role: oneOf(['editor', 'admin'], { description: 'Least role that may make the call.' }),
          },
          {
            ...closed,
            title: 'FixCall',
            description:
              'The call of this API that makes the change; null where no call can. `?dry_run=true` tries it.',
          },
        ),
      ),
    ),
  },
  { ...closed, title: 'Fix', description: 'The one change that would let the request pass.' },
);
export type Fix = Static<typeof FixSchema>;

const milliseconds = (description: string) => nullable(Type.Number({ description }));

const TimesSchema = Type.Object(
  {
    total: Type.Number({
      description: 'Time from the head of the request to the last byte of the response.',
    }),
    groups: Type.Object(
      {
        matching: milliseconds('Reading the path and finding the route.'),
        policy: milliseconds('The policy, with key sets and shared counters that it waits for.'),
        waiting: milliseconds(
          'For the body, where the policy asks for it, and for a connection that is free.',
        ),
        earlier_attempts: milliseconds('Attempts before the last one.'),
        connect: milliseconds('Time of the last attempt until the request was sent.'),
        first_byte: milliseconds('Until the head of its response.'),
        body: milliseconds('Until the last byte was written to the client.'),
      },
      { ...closed, description: 'One after the other; they add up to the total. null: not reached.' },
    ),
    attempts: Type.Array(
      Type.Object(
        {
          revision_id: Type.String(),
          revision: Type.String(),
          target: Type.String({ description: 'Host and port of the backend.' }),
          started_after: Type.Number({ description: 'Since the start of the exchange.' }),
          duration: Type.Number({ description: 'Until it failed, or the head of its response came.' }),
          status: nullable(Type.Integer()),
          failure: nullable(Type.String({ description: 'Cause, for example `connect_timeout`.' })),
        },
        closed,
      ),
      { description: 'At backends, in order; at most 20.' },
    ),
  },
  {
    ...closed,
    title: 'ExplainedTimes',
    description:
      'Milliseconds. null: the exchange was not timed, which happens while live traffic is watched.',
  },
);
export type ExplainedTimes = Static<typeof TimesSchema>;

export const ExplanationSchema = Type.Object(
  {
    outcome: oneOf(OUTCOMES),
    code: nullable(errorCode),
    request_id: nullable(
      Type.String({ description: 'Id of the real exchange; null for a described request.' }),
    ),
    trace_id: Type.Optional(
      Type.String({ description: 'Id of its trace; absent while traces are not exported.' }),
    ),
    trace_url: Type.Optional(
      Type.String({ description: 'Where its trace is shown; absent without `GATEWAY_OTEL__TRACE_URL`.' }),
    ),
    recorded_at: nullable(dateTime('Start of the real exchange.')),
    config_version: Type.Integer(),
    request: Type.Object(
      {
        method: Type.String(),
        host: Type.String(),
        path: nullable(Type.String({ description: 'Canonical path; null when there is none.' })),
        query: nullable(
          Type.String({
            description: 'Includes the `?`. For real exchanges, without the values of its parameters.',
          }),
        ),
        client_ip: Type.String(),
        headers: Type.Array(HeaderFieldSchema),
      },
      { ...closed, title: 'ExplainedRequest' },
    ),
    app: nullable(
      Type.Object(
        {
          id: Type.String(),
          slug: Type.String(),
          routing_mode: oneOf(['pass_through', 'managed_endpoint']),
          host: nullable(
            Type.String({
              description: 'The entry of its `hosts` that the request matched. null: it has none.',
            }),
          ),
        },
        closed,
      ),
    ),
    version: nullable(
      Type.Object(
        {
          id: Type.String(),
          version: Type.String(),
          gateway_path: Type.String(),
          status: oneOf(['active', 'deprecated', 'retired']),
        },
        closed,
      ),
    ),
    revision: nullable(Type.Object({ id: Type.String(), revision: Type.String() }, closed)),
    candidates: Type.Array(CandidateSchema),
    target: Type.Optional(TargetSchema),
    endpoint: nullable(
      Type.Object(
        {
          id: Type.String(),
          method: Type.String(),
          path: Type.String({ description: 'Path, which begins with the gateway path of the version.' }),
          backend_path: nullable(Type.String()),
          parameters: Type.Record(Type.String(), Type.String()),
        },
        closed,
      ),
    ),
    caller: nullable(
      Type.Object(
        {
          kind: oneOf(CALLER_KINDS),
          id: Type.String(),
          name: Type.String(),
          scopes: Type.Array(Type.String()),
        },
        closed,
      ),
    ),
    certificate: Type.Optional(
      Type.Object(
        {
          subject: Type.String({ description: 'RFC 4514; empty where the certificate cannot be read.' }),
          fingerprint: Type.String({ description: 'SHA-256, hexadecimal.' }),
          expires_at: nullable(dateTime('Last second of its validity.')),
          ca: Type.String({ description: '`auth.mtls.ca` of the policy.' }),
          trusted: nullable(
            Type.String({
              description: 'Subject of the trusted certificate that it leads to; null: refused.',
            }),
          ),
          rule: nullable(
            Type.Integer({ description: 'Index in `auth.mtls.callers` of the rule that fits; null: none.' }),
          ),
        },
        {
          ...closed,
          title: 'ExplainedCertificate',
          description: 'The client certificate, where a policy has looked at one.',
        },
      ),
    ),
    stages: Type.Array(StageSchema),
    limits: Type.Array(LimitSchema),
    upstream: nullable(
      Type.Object(
        {
          method: Type.String(),
          url: Type.String(),
          protocol: oneOf(['http1', 'h2', 'auto']),
          headers: Type.Array(HeaderFieldSchema, {
            description:
              'Not recorded for real exchanges. Cookies that sign in to the console are never forwarded.',
          }),
        },
        closed,
      ),
    ),
    response: Type.Object(
      {
        status: nullable(Type.Integer({ description: 'null when the backend decides it.' })),
        headers: Type.Array(HeaderFieldSchema, {
          description:
            'When the backend responds, the fields that the gateway adds. Not recorded for real exchanges.',
        }),
        body: Type.Unknown({ description: 'The problem document; null without one.' }),
      },
      { ...closed, title: 'ExplainedResponse' },
    ),
    fix: nullable(FixSchema),
    times: nullable(TimesSchema),
  },
  { ...closed, title: 'Explanation' },
);
export type Explanation = Static<typeof ExplanationSchema>;
