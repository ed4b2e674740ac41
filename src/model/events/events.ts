/**
 * The catalogue of events: what the gateway reports about itself, one row per type with the schema of its data.
 * Events are listed and streamed by the management API and sent to webhooks; docs/reference/events.md is generated
 * from this table. An event contains no secret, and nothing about clients or requests that the role `viewer` may not
 * see.
 */
import { namesMeant } from '../../lib/nearest.ts';
import { Type, type Static, type TSchema } from 'typebox';
import { closed, dateTime, nullable, oneOf } from '../schema-pieces.ts';

/** `info`: normal. `warning`: look at it soon. `error`: requests fail, or soon will. */
const EVENT_LEVELS = ['info', 'warning', 'error'] as const;
export type EventLevel = (typeof EVENT_LEVELS)[number];

export interface EventTypeRow {
  readonly type: string;
  /** What has happened, in one sentence. */
  readonly summary: string;
  readonly level: EventLevel;
  readonly data: TSchema;
}

const text = (description: string) => Type.String({ maxLength: 1_000, description });
const count = (description: string) => Type.Integer({ minimum: 0, description });
const record = (fields: Record<string, TSchema>) => Type.Object(fields, closed);
const row = <const Name extends string, Data extends TSchema>(
  type: Name,
  level: EventLevel,
  summary: string,
  data: Data,
) => ({ type, level, summary, data });

const names = {
  app: text('Slug of the app.'),
  version: text('Label of the version.'),
};
const revisionNames = { ...names, revision: text('Label of the revision.') };
const wasLeftOut = {
  left_out: Type.Optional(
    count(
      'Number of events of this type that were left out because there were too many: about the same subject, of the same app, or in the same check of all keys.',
    ),
  ),
};
const changedRecord = Type.Object(
  {
    type: oneOf(['app', 'version', 'revision', 'endpoint', 'token'], { description: '`token`: an API key.' }),
    id: text('Id of the record.'),
    name: text('Slug, label, method and path, or name.'),
    change: oneOf(['created', 'updated', 'deleted']),
  },
  closed,
);

export const EVENT_ROWS = [
  row(
    'config.changed',
    'info',
    'A write has changed the configuration.',
    Type.Object(
      {
        config_version: count('The config version that the write created.'),
        action: text('Action, as the audit log names it, such as `app.create`.'),
        actor: text('Id of the admin token, `environment`, `anonymous` or `system`.'),
        actor_name: Type.Optional(
          text(
            'Name of the admin token, or of the person at the OpenID provider, at that time; absent when the gateway itself has written.',
          ),
        ),
        source: text('The interface: `api`, `cli`, `console`, `import` or `system`.'),
        git_commit: nullable(text('The Git commit that the configuration was taken from.')),
        message: nullable(text('The message that its author gave.')),
        changed_records: nullable(count('Number of changed records; null where no history is kept.')),
        records: Type.Array(changedRecord, {
          maxItems: 20,
          description: 'The first of the changed records; empty where no history is kept.',
        }),
      },
      closed,
    ),
  ),
  row(
    'revision.activated',
    'info',
    'A revision became current: it takes traffic.',
    Type.Object(
      { ...revisionNames, config_version: count('The config version in which this happened.') },
      closed,
    ),
  ),
  row(
    'revision.rolled_back',
    'warning',
    'A revision became current again in place of a newer one, or by a rollback of the configuration.',
    Type.Object(
      {
        ...revisionNames,
        config_version: count('The config version in which this happened.'),
        replaced: Type.Array(text('Label of a revision that is no longer current.'), { maxItems: 20 }),
      },
      closed,
    ),
  ),
  row(
    'breaker.opened',
    'error',
    'The circuit breaker of a revision opened: its backend gets no requests.',
    Type.Object(
      { ...revisionNames, reason: text('The last failure of the backend.'), ...wasLeftOut },
      closed,
    ),
  ),
  row(
    'breaker.closed',
    'info',
    'The circuit breaker of a revision closed: its backend gets requests again.',
    Type.Object({ ...revisionNames, ...wasLeftOut }, closed),
  ),
  row(
    'target.ejected',
    'warning',
    'One of the targets of a revision gets no requests because it fails.',
    Type.Object(
      {
        ...revisionNames,
        target: text('Host and port.'),
        reason: text('Why the target was ejected.'),
        ...wasLeftOut,
      },
      closed,
    ),
  ),
  row(
    'target.returned',
    'info',
    'A target that was ejected gets requests again.',
    Type.Object({ ...revisionNames, target: text('Host and port.'), ...wasLeftOut }, closed),
  ),
  row(
    'version.deprecated',
    'info',
    'A version is deprecated, and its responses say so.',
    Type.Object({ ...names, sunset_at: nullable(dateTime('When the version is to be removed.')) }, closed),
  ),
  row(
    'version.sunset_near',
    'warning',
    'The sunset of a version is near.',
    Type.Object(
      {
        ...names,
        sunset_at: dateTime('When the version is to be removed.'),
        days_left: count('Whole days.'),
      },
      closed,
    ),
  ),
  row(
    'version.called_after_sunset',
    'warning',
    'A version was called after its sunset; recorded once a day.',
    Type.Object({ ...names, sunset_at: dateTime('When the version was to be removed.') }, closed),
  ),
  row(
    'key.expiring',
    'warning',
    'An API key expires soon.',
    Type.Object(
      {
        app: names.app,
        expires_at: dateTime('When it expires.'),
        days_left: count('Whole days.'),
        ...wasLeftOut,
      },
      closed,
    ),
  ),
  row(
    'key.expired',
    'warning',
    'An API key has expired: its requests are refused.',
    Type.Object({ app: names.app, expires_at: dateTime('When it expired.'), ...wasLeftOut }, closed),
  ),
  row(
    'key.unused',
    'info',
    'An API key has not been used for long.',
    Type.Object(
      {
        app: names.app,
        last_used_at: nullable(dateTime('Its last use; null: never.')),
        days: count('Whole days.'),
        ...wasLeftOut,
      },
      closed,
    ),
  ),
  row(
    'certificate.ending',
    'warning',
    'A certificate of the gateway expires soon, or has expired.',
    Type.Object(
      {
        listener: text(
          'Where it is used: at the listener `traffic` or `management`, towards `backends` or `collectors` of telemetry, or to verify `clients`.',
        ),
        names: Type.Array(text('A name in the certificate.'), { maxItems: 20 }),
        expires_at: dateTime('When it expires.'),
        days_left: Type.Integer({ description: 'Whole days; negative once it has expired.' }),
      },
      closed,
    ),
  ),
  row(
    'limit.reached',
    'info',
    'An API key reached a limit, for the first time in the window of that limit; recorded at most once an hour.',
    Type.Object(
      {
        app: names.app,
        limit: text('Which limit.'),
        window_seconds: nullable(count('Its window.')),
        ...wasLeftOut,
      },
      closed,
    ),
  ),
  row(
    'node.joined',
    'info',
    'A gateway joined the others on the database.',
    Type.Object({ program_version: text('Version of the gateway program.') }, closed),
  ),
  row(
    'node.left',
    'warning',
    'A gateway left the others on the database, or no longer answers.',
    Type.Object({ reason: oneOf(['stopped', 'silent']) }, closed),
  ),
  row(
    'limits_store.away',
    'error',
    'The store that shares the limits between gateways does not answer.',
    Type.Object({ reason: text('Why the store does not answer.'), ...wasLeftOut }, closed),
  ),
  row(
    'limits_store.back',
    'info',
    'The store that shares the limits between gateways answers again.',
    Type.Object({ away_seconds: count('For how many seconds it did not answer.'), ...wasLeftOut }, closed),
  ),
  row(
    'database.away',
    'error',
    'The database does not answer; traffic goes on with the configuration in memory.',
    Type.Object({ reason: text('Why the database does not answer.'), ...wasLeftOut }, closed),
  ),
  row(
    'database.back',
    'info',
    'The database answers again.',
    Type.Object({ away_seconds: count('For how many seconds it did not answer.'), ...wasLeftOut }, closed),
  ),
  row(
    'login.refused_repeatedly',
    'warning',
    'The management API refused wrong tokens from one network repeatedly.',
    Type.Object(
      { refused: count('Number of refused calls since the last event of this type.'), ...wasLeftOut },
      closed,
    ),
  ),
  row(
    'webhook.test',
    'info',
    'A test of a webhook: only that webhook receives it, and lists of events do not contain it.',
    record({ message: text('Fixed text.') }),
  ),
] as const satisfies readonly EventTypeRow[];

export type EventType = (typeof EVENT_ROWS)[number]['type'];
export type EventData<T extends EventType> = Static<
  Extract<(typeof EVENT_ROWS)[number], { type: T }>['data']
>;

export const EVENT_TYPES: ReadonlyMap<string, EventTypeRow> = new Map(
  EVENT_ROWS.map((found) => [found.type, found]),
);

/** The record or part that an event is about. */
export interface EventSubject {
  /**
   * `app`, `version`, `revision`, `endpoint`, `token`, `certificate`, `node`, `database`, `limits_store`, `webhook`, …
   */
  readonly kind: string;
  readonly id: string;
  /** The name that people know it by. */
  readonly name: string;
}

/** An event as it is stored, listed and sent. */
export interface GatewayEvent {
  /** A UUIDv7, unique over all gateways; ids sort in the order in which events were recorded. */
  readonly id: string;
  readonly type: EventType;
  /** When it happened, RFC 3339 in UTC. */
  readonly at: string;
  /** The gateway that noticed it; null when it is not known. */
  readonly node: string | null;
  /** Present only in events about one app or a record below it. */
  readonly app_id?: string;
  readonly subject: EventSubject;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Whether one of the patterns matches the type: exactly, or by its first word, such as `breaker.*`; `*` matches
 * every type.
 */
export function matchesType(patterns: readonly string[], type: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern,
  );
}

/** Whether the pattern matches any existing type, so that a mistyped filter can be refused. */
export function isTypePattern(pattern: string): boolean {
  if (pattern === '*') return true;
  const isGroup = pattern.endsWith('.*');
  return EVENT_ROWS.some(({ type }) => (isGroup ? type.startsWith(pattern.slice(0, -1)) : type === pattern));
}

/** The type or group that an unknown pattern probably means, as the end of a message; '' if none is like it. */
export function typeMeant(pattern: string): string {
  const types = EVENT_ROWS.map(({ type }) => type);
  const groups = new Set(types.map((type) => `${type.slice(0, type.indexOf('.'))}.*`));
  const [meant] = namesMeant(pattern, pattern.endsWith('.*') ? [...groups] : types);
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

/** An event in answers of the management API. */
export const EventSchema = Type.Object(
  {
    id: Type.String({ description: 'Unique over all gateways. Ids sort in the order of recording.' }),
    type: Type.String({ description: 'One of the types of the catalogue, such as `config.changed`.' }),
    at: dateTime('When it happened.'),
    node: nullable(Type.String({ description: 'The gateway that noticed it.' })),
    app_id: Type.Optional(Type.String({ description: 'The app that the event is about.' })),
    subject: Type.Object(
      {
        kind: Type.String({ description: 'Kind of what the event is about, such as `revision`.' }),
        id: Type.String(),
        name: Type.String({ description: 'Its name for people.' }),
      },
      closed,
    ),
    data: Type.Object({}, { additionalProperties: true, description: 'Depends on the type.' }),
  },
  { ...closed, title: 'Event' },
);
