/**
 * The X-Forwarded-* lines for the requests of one client connection that is not a trusted proxy. They depend on the
 * host of the request, which seldom changes. Owns the latest lines.
 */
import { forwardedForValue, forwardedLines } from '../../http/fields/forwarded.ts';
import { ownText } from '../../http/latin1.ts';

export class ForwardedFields {
  readonly #forwardedFor: string;
  readonly #scheme: 'http' | 'https';
  #host: string | undefined;
  #lines = '';

  constructor(peer: string, isSecure: boolean) {
    this.#forwardedFor = forwardedForValue(peer, undefined, false);
    this.#scheme = isSecure ? 'https' : 'http';
  }

  /** Each ends in CRLF. */
  lines(host: string): string {
    if (host !== this.#host) {
      this.#host = ownText(host);
      this.#lines = ownText(forwardedLines(this.#forwardedFor, this.#scheme, host));
    }
    return this.#lines;
  }
}
