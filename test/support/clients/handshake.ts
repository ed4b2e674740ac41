/** One TLS handshake as a client: the certificate that it is shown, or why it failed. */
import * as tls from 'node:tls';

export interface Handshake {
  /** Such as `DNS:shop.test`. */
  readonly names: string;
  readonly serial: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
  readonly protocol: string | false;
  /** DER. */
  readonly raw: Buffer;
}

const TIMEOUT_MS = 5_000;

/** Without `ca` no certificate is refused. */
export function handshake(
  port: number,
  servername: string,
  options: tls.ConnectionOptions = {},
): Promise<Handshake | { readonly error: string }> {
  return new Promise((done) => {
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      servername,
      rejectUnauthorized: options.ca !== undefined,
      ...options,
    });
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
    socket.once('secureConnect', () => {
      const {
        subjectaltname: names = '',
        serialNumber: serial,
        valid_to: end,
        raw,
      } = socket.getPeerCertificate();
      done({ names, serial, raw, expiresAtMs: Date.parse(end), protocol: socket.alpnProtocol ?? false });
      socket.destroy();
    });
    socket.once('error', (error: NodeJS.ErrnoException) => done({ error: error.code ?? error.message }));
    socket.once('close', () => done({ error: 'closed' }));
  });
}

/** Asks for another handshake within a connection of TLS 1.2. @returns the code of the error; '' if it was had */
export function renegotiate(port: number, options: tls.ConnectionOptions = {}): Promise<string> {
  return new Promise((done) => {
    const versions = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
    const socket = tls.connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ...versions,
      ...options,
    });
    const over = (result: string): void => {
      socket.destroy();
      done(result);
    };
    socket.setTimeout(TIMEOUT_MS, () => over('no answer in time'));
    socket.once('error', (error: NodeJS.ErrnoException) => over(error.code ?? error.message));
    socket.once('secureConnect', () => {
      socket.renegotiate({ rejectUnauthorized: false }, (error) => {
        if (error === null) over('');
      });
    });
    socket.resume();
  });
}
