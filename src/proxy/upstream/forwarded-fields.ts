/**
 * The lines of one client's connection that tell a backend where requests come from (X-Forwarded-*), for a client that
 * is not trusted to have said so itself. They depend on the host of the request, which seldom changes. Owns the latest.
 */
import { forwardedLines } from '../../http/forwarded.ts';
import { ownText } from '../../http/latin1.ts';

export class ForwardedFields {
  readonly #peer: string;
  readonly #scheme: 'http' | 'https';
  #host: string | undefined;
  #lines = '';

  constructor(peer: string, isSecure: boolean) {
    this.#peer = peer;
    this.#scheme = isSecure ? 'https' : 'http';
  }

  /** Each ends in CRLF. */
  lines(host: string): string {
    if (host !== this.#host) {
      this.#host = ownText(host);
      this.#lines = ownText(forwardedLines(this.#peer, this.#scheme, host));
    }
    return this.#lines;
  }
}
