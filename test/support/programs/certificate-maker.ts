/**
 * Certificates for tests, made by the program openssl in a folder of their own: authorities, certificates that they
 * issue with any extensions, and revocation lists.
 */
import { execFileSync } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installedProgram } from './install-program.ts';

export interface Made {
  readonly name: string;
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

export interface MakeOptions {
  /** As `-subj` takes it. Default: `/CN=<name>`. */
  readonly subject?: string;
  /** Lines of an extension section. Default: those of a CA, or of a client. */
  readonly extensions?: readonly string[];
  /** Days from now; -1: it has expired. Default: 30. */
  readonly days?: number;
  /** For `-newkey`; default: P-256. */
  readonly key?: readonly string[];
  /** In place of the key that is made. */
  readonly publicKey?: KeyObject;
  /** `-sha256` and others. */
  readonly digest?: string;
}

const P256 = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
const DAY_MS = 86_400_000;
export const CA_EXTENSIONS = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign'];
export const CLIENT_EXTENSIONS = [
  'basicConstraints=critical,CA:FALSE',
  'keyUsage=critical,digitalSignature',
  'extendedKeyUsage=clientAuth',
];

export class CertificateMaker {
  readonly folder = mkdtempSync(join(tmpdir(), 'headgate-certificates-'));
  #serial = 0;

  /** A certificate that is signed with its own key. */
  authority(name: string, options: MakeOptions = {}): Made {
    return this.#issue(name, undefined, { extensions: CA_EXTENSIONS, ...options });
  }

  issue(name: string, by: Made, options: MakeOptions = {}): Made {
    return this.#issue(name, by, { extensions: CLIENT_EXTENSIONS, ...options });
  }

  /**
   * A revocation list in PEM.
   * @param days until the next update
   * @param index lines of openssl's list of certificates, for those that were never made
   */
  revocationList(by: Made, revoked: readonly Made[], days = 7, index = ''): string {
    const at = (file: string): string => join(this.folder, file);
    writeFileSync(at('index.txt'), index);
    writeFileSync(at('crlnumber'), '01\n');
    writeFileSync(
      at('ca.cnf'),
      `[ca]\ndefault_ca=own\n[own]\ndatabase=${at('index.txt')}\ncrlnumber=${at('crlnumber')}\ndefault_md=sha256\n`,
    );
    const signer = ['-config', at('ca.cnf'), '-cert', at(`${by.name}.pem`), '-keyfile', at(`${by.name}.key`)];
    for (const { name } of revoked) this.openssl('ca', ...signer, '-revoke', at(`${name}.pem`));
    const [last, next] = [-2 * DAY_MS, days * DAY_MS].map(openSslTime);
    this.openssl(
      'ca',
      ...signer,
      '-gencrl',
      '-crl_lastupdate',
      last ?? '',
      '-crl_nextupdate',
      next ?? '',
      '-out',
      at('list.crl'),
    );
    return readFileSync(at('list.crl'), 'utf8');
  }

  openssl(...args: string[]): string {
    return execFileSync(installedProgram('openssl', 'openssl'), args, { stdio: 'pipe' }).toString();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #issue(name: string, by: Made | undefined, options: MakeOptions): Made {
    const at = (end: string): string => join(this.folder, name + end);
    const { subject = `/CN=${name}`, extensions = [], days = 30, key = P256, digest = '-sha256' } = options;
    this.openssl(
      'req',
      '-newkey',
      ...key,
      '-nodes',
      '-keyout',
      at('.key'),
      '-out',
      at('.csr'),
      '-subj',
      subject,
    );
    writeFileSync(at('.ext'), `${extensions.join('\n')}\n`);
    const signer =
      by === undefined
        ? ['-signkey', at('.key')]
        : ['-CA', join(this.folder, `${by.name}.pem`), '-CAkey', join(this.folder, `${by.name}.key`)];
    const { publicKey } = options;
    if (publicKey !== undefined) writeFileSync(at('.pub'), publicKey.export({ type: 'spki', format: 'pem' }));
    this.#serial += 1;
    this.openssl(
      'x509',
      '-req',
      '-in',
      at('.csr'),
      ...signer,
      ...(publicKey === undefined ? [] : ['-force_pubkey', at('.pub')]),
      '-set_serial',
      String(1_000 + this.#serial),
      digest,
      '-days',
      String(days),
      '-extfile',
      at('.ext'),
      '-out',
      at('.pem'),
    );
    return { name, cert: readFileSync(at('.pem'), 'utf8'), key: readFileSync(at('.key'), 'utf8') };
  }
}

/** `YYMMDDHHMMSSZ`, so many milliseconds from now. */
function openSslTime(fromNowMs: number): string {
  const text = new Date(Date.now() + fromNowMs).toISOString();
  return `${text.slice(2, 19).replace(/[-:T]/g, '')}Z`;
}
