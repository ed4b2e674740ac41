/**
 * TLS to a Postgres server as the connection URI requests it: `sslmode` as in libpq (PostgreSQL documentation, "SSL
 * Support"), `sslrootcert`, `sslcert` and `sslkey`. Modes that may fall back to plain text (`allow`, `prefer`) are
 * refused. Files are read for each connection, so that they can be renewed.
 */
import { readFileSync } from 'node:fs';
import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import { systemReason } from '../../lib/error-message.ts';
import { StorageRefused } from '../storage-errors.ts';

const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof MODES)[number];

/** Parameters that are removed from the URI, so that the driver does not interpret them. */
const PARAMETERS = new Set(['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl', 'uselibpqcompat']);
/** Where a connection URI comes from, unless a flag of a command gives it. */
export const URL_SETTING = 'GATEWAY_DATABASE_URL';

export interface PostgresAddress {
  /** The URI without its TLS parameters. */
  readonly url: string;
  /**
   * Options of one connection; undefined: plain text.
   * @throws StorageRefused if a file cannot be read
   */
  readonly tls: (() => ConnectionOptions) | undefined;
  /** The setting or flag that gives the URI, for messages. */
  readonly givenBy: string;
}

/**
 * @param caFile file from the settings; the URI's `sslrootcert` takes precedence. The default mode is
 * `verify-full` with a CA file and `disable` without
 * @param givenBy see `PostgresAddress`
 * @throws StorageRefused if parameters contradict each other or are unknown
 */
export function postgresAddress(
  uri: string,
  caFile: string | undefined,
  givenBy: string = URL_SETTING,
): PostgresAddress {
  const { url, parameters } = takeOut(uri);
  const ca = parameters.get('sslrootcert') ?? caFile;
  const [cert, key] = [parameters.get('sslcert'), parameters.get('sslkey')];
  const mode = modeOf(parameters, ca !== undefined, givenBy);
  if ((cert === undefined) !== (key === undefined)) {
    throw refused(givenBy, 'sslcert and sslkey must be given together; expected both or none');
  }
  if (mode === 'disable') {
    if (ca === undefined && cert === undefined) return { url, tls: undefined, givenBy };
    throw refused(
      givenBy,
      'sslmode=disable contradicts the files for TLS; expected verify-full, or none of them',
    );
  }
  if (mode === 'verify-ca' && ca === undefined) {
    throw refused(givenBy, 'sslmode=verify-ca needs sslrootcert or GATEWAY_DATABASE__CA_FILE');
  }
  // As in libpq: with a certificate authority, `require` verifies the certificate.
  const checked = mode !== 'require' || ca !== undefined;
  return {
    url,
    givenBy,
    tls: () => ({
      minVersion: 'TLSv1.2',
      rejectUnauthorized: checked,
      checkServerIdentity: mode === 'verify-full' ? checkServerIdentity : () => undefined,
      ...(ca !== undefined && { ca: contentOf(ca, givenBy) }),
      ...(cert !== undefined &&
        key !== undefined && { cert: contentOf(cert, givenBy), key: contentOf(key, givenBy) }),
    }),
  };
}

/** The query without TLS parameters, otherwise unchanged. */
function takeOut(uri: string): { readonly url: string; readonly parameters: ReadonlyMap<string, string> } {
  const start = uri.indexOf('?');
  const parameters = new Map<string, string>();
  if (start < 0) return { url: uri, parameters };
  const others: string[] = [];
  for (const pair of uri.slice(start + 1).split('&')) {
    const [[name, value] = ['', '']] = new URLSearchParams(pair);
    if (PARAMETERS.has(name)) parameters.set(name, value);
    else if (pair !== '') others.push(pair);
  }
  const query = others.length === 0 ? '' : `?${others.join('&')}`;
  return { url: uri.slice(0, start) + query, parameters };
}

function modeOf(parameters: ReadonlyMap<string, string>, hasAuthority: boolean, givenBy: string): Mode {
  const given = parameters.get('sslmode');
  if (given === undefined) {
    if (parameters.has('ssl')) throw refused(givenBy, `the parameter ssl is not known; expected ${wanted()}`);
    return hasAuthority ? 'verify-full' : 'disable';
  }
  const mode = MODES.find((one) => one === given);
  if (mode === undefined)
    throw refused(givenBy, `sslmode=${given.slice(0, 40)} is not known here; expected ${wanted()}`);
  return mode;
}

const wanted = (): string => `sslmode=${MODES.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`;

function contentOf(path: string, givenBy: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw refused(
      givenBy,
      `the file "${path}" for TLS cannot be read: ${systemReason(error)}; expected a PEM file`,
    );
  }
}

function refused(givenBy: string, problem: string): StorageRefused {
  return new StorageRefused(`Cannot use ${givenBy}: ${problem}`);
}
