/** Reads the files that the connection to a collector needs, and checks whether they can be used. */
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { messageOf, systemReason, tlsWords } from '../../lib/error-message.ts';
import { isCertificateText } from '../../x509/certificate.ts';
import type { ConnectionStart } from '../../telemetry/export/export-messages.ts';

/** Paths. */
export interface NamedFiles {
  readonly caFile: string | undefined;
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

export interface FileProblem {
  /** A sentence without its end, with the setting and the path. */
  readonly problem: string;
  /** Whether the file could be read. */
  readonly isRead: boolean;
  readonly cause: unknown;
}

export function readConnectionFiles(
  signal: string,
  { caFile, certFile, keyFile }: NamedFiles,
): Pick<ConnectionStart, 'ca' | 'cert' | 'key'> | FileProblem {
  const named = (name: string, path: string | undefined): string =>
    `GATEWAY_OTEL__${name}, or GATEWAY_OTEL__${signal.toUpperCase()}_${name}, ${JSON.stringify(path)}`;
  const contents: (string | undefined)[] = [];
  const files = [
    ['CA_FILE', caFile],
    ['CLIENT_CERT_FILE', certFile],
    ['CLIENT_KEY_FILE', keyFile],
  ] as const;
  for (const [name, path] of files) {
    try {
      contents.push(path === undefined ? undefined : readFileSync(path, 'utf8'));
    } catch (error) {
      const problem = `Cannot read ${named(name, path)}: ${systemReason(error)}`;
      return { problem, isRead: false, cause: error };
    }
  }
  const [ca, cert, key] = contents;
  const unusable = (name: string, path: string | undefined, why: string, cause?: unknown): FileProblem => ({
    problem: `Cannot use ${named(name, path)}: ${why}`,
    isRead: true,
    cause,
  });
  if (ca !== undefined && !isCertificateText(ca)) {
    return unusable('CA_FILE', caFile, 'expected certificates in PEM');
  }
  const ofCertificate = refusalOf({ cert });
  if (ofCertificate !== undefined) {
    return unusable('CLIENT_CERT_FILE', certFile, tlsWords(messageOf(ofCertificate)), ofCertificate);
  }
  const ofKey = refusalOf({ cert, key });
  if (ofKey !== undefined) return unusable('CLIENT_KEY_FILE', keyFile, tlsWords(messageOf(ofKey)), ofKey);
  return { ca, cert, key };
}

/** The error of OpenSSL for a certificate or key; undefined if they can be used, or there are none. */
function refusalOf(pair: { readonly cert: string | undefined; readonly key?: string | undefined }): unknown {
  if (pair.cert === undefined) return undefined;
  try {
    createSecureContext(pair);
    return undefined;
  } catch (error) {
    return error;
  }
}
