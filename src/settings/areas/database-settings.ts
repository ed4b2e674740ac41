/** Settings of the database, and of gateways that share one. */
import { KEYS_EXPECTED, parseKeysText } from '../../lib/secret-key-text.ts';
import { HISTORY_DEFAULTS } from '../../model/history/config-history.ts';
import { boolean, integer, text, type Setting } from '../settings-values.ts';

const timeoutMs = { min: 1, max: 86_400_000 };

export const DATABASE_SETTINGS = {
  GATEWAY_CONFIG_FILE: text('path', {
    default: undefined,
    description:
      'File or folder with the whole configuration, which is then served without a database: the management API is read-only, and changes to the files are applied while the gateway runs. `GATEWAY_DATABASE_URL` must not be set.',
    pattern: /^[^\0]{1,4096}$/,
    expected: 'a path',
  }),
  GATEWAY_DATABASE_URL: text('database URL', {
    default: 'sqlite://data/headgate.db',
    description:
      'Where the configuration is stored: `sqlite://path` (three slashes: absolute), `sqlite:path`, `file:path`, `sqlite://:memory:`, or `postgres://user:password@host:port/database`, with TLS by `?sslmode=verify-full&sslrootcert=file`. In the password `/`, `?`, `#`, `@`, `:` and `%` are percent-encoded (`/` is `%2F`).',
    pattern: /^(?:sqlite|file|postgres|postgresql):.+/i,
    expected: 'a URL such as sqlite://data/headgate.db or postgres://user:password@host:5432/headgate',
  }),
  GATEWAY_AUTO_MIGRATE: boolean({
    default: undefined,
    defaultText: '`true` on SQLite, `false` on PostgreSQL',
    description:
      'Update the database schema at start. If it is `false`, the gateway does not start with a schema that is out of date.',
  }),
  GATEWAY_SECRET_KEY: text('32 bytes as base64url or hexadecimal text', {
    default: undefined,
    defaultText: 'created at the first start',
    secret: true,
    description:
      'Key that encrypts secrets in the database, for example from `openssl rand -hex 32`. Without it, the key is in the file `secret-key` beside the database, which the first start creates. PostgreSQL has no such file: set the same key on every gateway before a policy holds a secret. Several keys with commas between them: the first one encrypts, all of them decrypt, so that the key can be [changed](storage.md#change-the-secret-key).',
    pattern: { test: (value) => parseKeysText(value) !== undefined },
    expected: KEYS_EXPECTED,
  }),
  GATEWAY_SNAPSHOT_FILE: text('path, or `off`', {
    default: undefined,
    defaultText:
      'the path of the database with `.snapshot` after it; `data/headgate.snapshot` with PostgreSQL',
    description:
      'File with the last good configuration, for a start without the database. Each gateway needs its own. With PostgreSQL the folder is created; with SQLite it must exist, unless it is the folder of the database.',
    pattern: /^[^\0]{1,4096}$/,
    expected: 'a path, or off',
  }),
  GATEWAY_DATABASE__POOL_MAX: integer(
    { min: 1, max: 1_000 },
    {
      default: 4,
      description:
        'PostgreSQL: maximum number of connections for reads. One more connection writes, and another is open while the whole configuration is loaded.',
    },
  ),
  GATEWAY_DATABASE__TIMEOUT_MS: integer(timeoutMs, {
    default: 1_500,
    description:
      'PostgreSQL: milliseconds that a management call may wait for the database, connections and locks included, before it is answered 503.',
  }),
  GATEWAY_DATABASE__CONNECT_TIMEOUT_MS: integer(timeoutMs, {
    default: undefined,
    defaultText: '`GATEWAY_DATABASE__TIMEOUT_MS`',
    description: 'PostgreSQL: milliseconds for making one connection, TLS and login included.',
  }),
  GATEWAY_DATABASE__STATEMENT_TIMEOUT_MS: integer(timeoutMs, {
    default: undefined,
    defaultText: '`GATEWAY_DATABASE__TIMEOUT_MS`',
    description:
      'PostgreSQL: milliseconds for one statement of a management call, measured here and on the server.',
  }),
  GATEWAY_DATABASE__CA_FILE: text('path', {
    default: undefined,
    description:
      'PostgreSQL: PEM file of the certificate authority of the server. Connections then use TLS and verify the certificate (`sslmode=verify-full`), unless the URL has another `sslmode`.',
  }),
  GATEWAY_DATABASE__IDLE_TIMEOUT_MS: integer(timeoutMs, {
    default: 60_000,
    description: 'PostgreSQL: milliseconds after which an unused connection is closed.',
  }),
  GATEWAY_HISTORY__MAX_VERSIONS: integer(
    { min: 0, max: 100_000 },
    {
      default: HISTORY_DEFAULTS.maxVersions,
      description:
        'Number of config versions in the history, with their authors and changes. 0: keep no history, and remove the existing one.',
    },
  ),
  GATEWAY_HISTORY__MAX_BYTES: integer(
    { min: 1024 * 1024, max: 64 * 1024 * 1024 * 1024 },
    {
      default: HISTORY_DEFAULTS.maxBytes,
      description:
        'Bytes of changed records that the history keeps. Beyond it, the oldest versions are removed. A single write that changes more than this, or more than 64 MiB, is still made, but the history then begins with it.',
    },
  ),
  GATEWAY_AUDIT__MAX_DAYS: integer(
    { min: 0, max: 36_500 },
    {
      default: 0,
      description:
        'Days for which entries of the audit log are kept. 0: they are never removed, and the table grows with each change.',
    },
  ),
  GATEWAY_CLUSTER__NODE_NAME: text('text', {
    default: undefined,
    defaultText: 'name of the host and port of the management API, as `host:9090`',
    description: 'Name of this gateway in `GET /api/v1/nodes`.',
  }),
  GATEWAY_CLUSTER__HEARTBEAT_MS: integer(
    { min: 50, max: 60_000 },
    {
      default: 1_000,
      description:
        'PostgreSQL: milliseconds between heartbeats of a gateway. At each one it also looks for changes that it has missed.',
    },
  ),
  GATEWAY_CLUSTER__NODE_TIMEOUT_MS: integer(
    { min: 100, max: 600_000 },
    {
      default: 5_000,
      description:
        'PostgreSQL: milliseconds without a heartbeat after which a gateway no longer counts as live. At least twice `GATEWAY_CLUSTER__HEARTBEAT_MS`.',
    },
  ),
  GATEWAY_CLUSTER__WRITE_WAIT_MS: integer(
    { min: 0, max: 60_000 },
    {
      default: 2_000,
      description:
        'PostgreSQL: milliseconds that the answer to a write waits until the other gateways have applied it. `Headgate-Nodes-Applied` in the answer says how many have.',
    },
  ),
} as const satisfies Record<string, Setting<unknown>>;
