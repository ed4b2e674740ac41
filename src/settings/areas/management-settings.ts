/** Settings of the management listener and admin access. */
import { boolean, host, integer, SOCKET_MODE, SOCKET_PATH, text, type Setting } from '../settings-values.ts';

const port = { min: 0, max: 65_535 };

export const MANAGEMENT_SETTINGS = {
  GATEWAY_SERVER__HOST: host({ default: '127.0.0.1', description: 'Address of the management listener.' }),
  GATEWAY_SERVER__PORT: integer(port, {
    default: 9090,
    description: 'Port of the management listener. 0: any free port.',
  }),
  GATEWAY_SERVER__UNIX_SOCKET: text('path', {
    default: undefined,
    defaultText: 'none',
    description:
      'Unix socket for the management API without TLS, beside the port: an absolute path whose folder exists. An existing socket on which no process listens is replaced.',
    pattern: SOCKET_PATH,
    expected: 'an absolute path of at most 96 bytes',
  }),
  GATEWAY_SERVER__UNIX_SOCKET_MODE: text('octal digits', {
    default: '600',
    description:
      'Permissions of `GATEWAY_SERVER__UNIX_SOCKET`: clients need write permission. A client that may connect still needs an admin token.',
    pattern: SOCKET_MODE,
    expected: 'three octal digits, such as 600 or 660',
  }),
  GATEWAY_SERVER__TLS__CERT_FILE: text('path', {
    default: undefined,
    description:
      'PEM file with the certificate chain of the management listener, which then speaks TLS only. The file is read again when it changes. Needs `GATEWAY_SERVER__TLS__KEY_FILE`.',
  }),
  GATEWAY_SERVER__TLS__KEY_FILE: text('path', {
    default: undefined,
    description: 'PEM file with the private key of that certificate.',
  }),
  GATEWAY_SERVER__SWAGGER_ENABLED: boolean({
    default: false,
    description: 'Serve the interactive API explorer at `/swagger-ui/` of the management listener.',
  }),
  GATEWAY_CONSOLE__ENABLED: boolean({
    default: true,
    description: 'Serve the console at `/` of the management listener.',
  }),
  GATEWAY_CONSOLE__FOLDER: text('path', {
    default: undefined,
    defaultText: 'set by `npm start`, which builds the console',
    description: 'Folder with the built console. Without one there is no console.',
  }),
  GATEWAY_SERVER__AUTH_FAILURES_PER_MINUTE: integer(
    { min: 0, max: 1_000_000 },
    {
      default: 60,
      description:
        'Maximum number of wrong admin tokens per minute and client address (IPv6: one /64). Beyond it, further tokens from that address get 429, except tokens that were right before. Cookies that belong to no session are counted separately, with the same limit. 0: unlimited.',
    },
  ),
  GATEWAY_ADMIN_TOKEN: text('text', {
    default: undefined,
    defaultText: 'created at the first start',
    secret: true,
    description:
      'An admin token with the role `admin`. Without it, if no admin token exists, the first start creates one and writes it to `admin-token` beside the database (PostgreSQL: beside the snapshot file), or to `admin-token-<file>` if `admin-token` may belong to another database.',
    pattern: /^[\x21-\x7e]{16,512}$/,
    expected: '16 to 512 visible ASCII characters without spaces',
  }),
} as const satisfies Record<string, Setting<unknown>>;
