/** The flags that describe a request, for all commands that explain one. */
import type { Command } from 'commander';
import { CliError, type CliIo } from '../io.ts';
import { wholeNumber } from '../whole-number.ts';
import { keyIn } from './key-commands.ts';
import { textOf } from '../input.ts';

export interface RequestFlags {
  readonly header: readonly string[];
  readonly key?: string;
  readonly keyFile?: string;
  readonly host?: string;
  readonly clientIp?: string;
  readonly bodyBytes?: string;
  readonly clientCertificate?: string;
}

export function addRequestFlags(command: Command): Command {
  return addHeaderFlag(command)
    .option('--key <value>', 'API key or JWT of the caller; other users of the machine can see it')
    .option('--key-file <file>', 'file with the key or JWT; - is standard input')
    .option('--host <name>', 'Host field')
    .option('--client-ip <address>', 'address of the client; default: 127.0.0.1')
    .option('--body-bytes <count>', 'length of the body')
    .option(
      '--client-certificate <file>',
      'certificate of the client in PEM, without its key; - is standard input',
    );
}

export function addHeaderFlag(command: Command): Command {
  const collect = (line: string, before: readonly string[]): readonly string[] => [...before, line];
  return command.option('-H, --header <line>', 'header field "Name: value"; may be repeated', collect, []);
}

/** Name and value of a line that `--header` gives. */
export function headerField(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new CliError('A --header is not "Name: value"');
  return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
}

/** The body for the management API. */
export function requestOf(
  method: string,
  url: string,
  flags: RequestFlags,
  io: CliIo,
): Record<string, unknown> {
  const { key, keyFile, host, clientIp, bodyBytes, clientCertificate } = flags;
  if (key !== undefined && keyFile !== undefined) {
    throw new CliError('--key and --key-file are both given; expected one of them');
  }
  const token = keyFile === undefined ? key : keyIn(keyFile, io);
  const headers = headersOf(host === undefined ? flags.header : [`Host: ${host}`, ...flags.header]);
  return {
    method,
    url,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(token !== undefined && { token }),
    ...(clientIp !== undefined && { client_ip: clientIp }),
    ...(bodyBytes !== undefined && { body_bytes: wholeNumber('--body-bytes', bodyBytes, 0) }),
    ...(clientCertificate !== undefined && { client_certificate: certificateIn(clientCertificate, io) }),
  };
}

/**
 * Reads a certificate. Refuses a file with a private key: the gateway needs none, and the file is probably the
 * wrong one.
 */
function certificateIn(path: string, io: CliIo): string {
  const text = textOf(path, io);
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    throw new CliError(`${path} has a private key, which must not be sent; expected only the certificate`);
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----')) {
    throw new CliError(`${path} has no certificate in PEM`);
  }
  return text;
}

/** A name that is given twice becomes two fields. */
function headersOf(lines: readonly string[]): Record<string, string | string[]> {
  const values = new Map<string, string[]>();
  for (const [name, value] of lines.map(headerField)) values.set(name, [...(values.get(name) ?? []), value]);
  return Object.fromEntries(
    Array.from(values, ([name, all]) => [name, all.length === 1 ? (all[0] ?? '') : all]),
  );
}
