/**
 * Checks whether the files and folders that settings name can be read, and whether those for collectors and the
 * configuration can be used. The content of others is not looked at here.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { errorLine } from '../../declaration/field-lines.ts';
import { systemReason } from '../../lib/error-message.ts';
import { counted } from '../../lib/text/counted.ts';
import type { OtelConnection, Settings } from '../../settings/settings-types.ts';
import { readConfigFile } from '../config-file/read-config-file.ts';
import { readConnectionFiles } from '../reporting/collector-files.ts';
import { error, ok, warning, type Finding } from './finding.ts';

interface Named {
  readonly setting: string;
  readonly path: string | undefined;
  readonly kind: 'file' | 'folder' | 'either';
  /** Whether a start without it goes on. */
  readonly isOptional?: true;
}

type Env = (name: string) => string | undefined;

/** @param env for the references in configuration files */
export function namedFileChecks(settings: Settings, env: Env): Finding[] {
  return [...readableChecks(settings), ...configurationChecks(settings, env), ...collectorChecks(settings)];
}

/** What stops the start, as far as the files themselves show it. */
function configurationChecks({ configFile }: Settings, env: Env): Finding[] {
  if (configFile === undefined || problemOf(configFile, 'either') !== undefined) return [];
  const { result } = readConfigFile(configFile, env);
  if (!('problems' in result)) return [];
  const { problems } = result;
  const more = problems.length > 1 ? `, and ${counted(problems.length - 1, 'more problem')}` : '';
  const first = problems.slice(0, 1).map(errorLine).join('');
  const fix = 'correct the file; the start lists all its problems';
  return [error('files', `GATEWAY_CONFIG_FILE: ${first}${more}`, fix)];
}

/** What stops the start, of files that can be read: each problem once, though signals share files. */
function collectorChecks({ otel }: Settings): Finding[] {
  const problems = new Map<string, string>();
  for (const [signal, connection] of Object.entries(otel?.connections ?? {})) {
    const files = readConnectionFiles(signal, connection);
    const key = JSON.stringify([connection.caFile, connection.certFile, connection.keyFile]);
    if ('problem' in files && files.isRead && !problems.has(key)) problems.set(key, files.problem);
  }
  const fix =
    'name certificates, and a key that belongs to its certificate, in PEM; or leave the setting out';
  return [...problems.values()].map((problem) => error('files', problem, fix));
}

function readableChecks(settings: Settings): Finding[] {
  return namedFiles(settings).flatMap(({ setting, path, kind, isOptional }) => {
    if (path === undefined) return [];
    const problem = problemOf(path, kind);
    if (problem === undefined) return [ok('files', `${setting}: "${path}"`)];
    const judge = isOptional === true ? warning : error;
    const fix = `let the gateway's user read it, or change ${setting}`;
    return [judge('files', `${setting}: "${path}": ${problem}`, fix)];
  });
}

function namedFiles({ configFile, proxy, discovery, acme, otel }: Settings): Named[] {
  const { traces, metrics, logs } = otel?.connections ?? {};
  return [
    { setting: 'GATEWAY_CONFIG_FILE', path: configFile, kind: 'either' },
    { setting: 'GATEWAY_PROXY__CLIENT_CAS', path: proxy.clientCas, kind: 'folder' },
    { setting: 'GATEWAY_PROXY__CLIENT_CERTIFICATES', path: proxy.clientCertificates, kind: 'folder' },
    { setting: 'GATEWAY_DISCOVERY__FOLDER', path: discovery.folder, kind: 'folder', isOptional: true },
    { setting: 'GATEWAY_ACME__CA_FILE', path: acme?.caFile, kind: 'file' },
    ...collectorFiles([traces, metrics, logs]),
  ];
}

/** Each file once: signals that have no setting of their own share one. */
function collectorFiles(connections: readonly (OtelConnection | undefined)[]): Named[] {
  const of = (setting: string, field: 'caFile' | 'certFile' | 'keyFile'): Named[] =>
    [...new Set(connections.map((connection) => connection?.[field]))].map((path) => ({
      setting: `GATEWAY_OTEL__${setting}`,
      path,
      kind: 'file',
    }));
  return [
    ...of('CA_FILE', 'caFile'),
    ...of('CLIENT_CERT_FILE', 'certFile'),
    ...of('CLIENT_KEY_FILE', 'keyFile'),
  ];
}

function problemOf(path: string, kind: Named['kind']): string | undefined {
  try {
    const isFolder = statSync(path).isDirectory();
    if (isFolder && kind === 'file') return 'it is a folder';
    if (!isFolder && kind === 'folder') return 'it is not a folder';
    accessSync(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
    return undefined;
  } catch (failure) {
    return systemReason(failure);
  }
}
