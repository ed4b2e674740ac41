/**
 * The client of one ACME directory with one account (RFC 8555 section 7): signs requests, keeps nonces and reads the
 * answers. Requests that change nothing are repeated when they fail. An order is not, because the directory may already
 * have it. Owns the directory's addresses and the nonces.
 */
import type { Clock } from '../../lib/clock.ts';
import { retryWaitMs } from '../../http/fields/retry-after.ts';
import type { AccountKey } from './account-key.ts';
import { externalBinding } from './account-key.ts';
import {
  AcmeProblem,
  problemOf,
  readAuthorization,
  readDirectory,
  readOrder,
  readOrderList,
  readOrdersUrl,
  readRenewalWindow,
  type Authorization,
  type Directory,
  type Order,
} from './acme-messages.ts';
import {
  ClockDiffers,
  DirectoryUnavailable,
  type DirectoryHttp,
  type HttpAnswer,
  type HttpRequest,
} from './directory-http.ts';

const NONCES_MAX = 16;
const NONCE = /^[A-Za-z0-9_-]{1,512}$/;
/** Limit of retries when the directory refuses the nonce of a request (RFC 8555 section 6.5). */
const BAD_NONCES_MAX = 12;
/** Limit of attempts of a request that changes nothing. */
const ATTEMPTS_MAX = 6;
const WAIT_MS = { first: 100, max: 1_000 };
/** How long the directory's addresses are used without reading them again. */
const DIRECTORY_MS = 3_600_000;
const ORDER_PAGES_MAX = 20;
/** The largest accepted difference between the clocks of this machine and of the directory. */
const CLOCK_MS_MAX = 3_600_000;
const DAY_MS = 86_400_000;

export interface AcmeClientOptions {
  readonly directory: string;
  readonly contact: readonly string[];
  readonly externalAccount: { readonly kid: string; readonly hmacKey: string } | undefined;
}

/** An answer, and when the directory wants the next request. */
export interface Polled<T> {
  readonly value: T;
  readonly retryAfterMs: number | undefined;
}

type Repeat = 'repeat' | 'once';

export class AcmeClient {
  readonly #options: AcmeClientOptions;
  readonly #http: DirectoryHttp;
  readonly #clock: Clock;
  readonly #nonces: string[] = [];
  #directory: { readonly value: Directory; readonly readMs: number } | undefined;
  #key: AccountKey | undefined;
  #account: string | undefined;
  #answers = 0;
  /** From the latest answer: the directory's time, and the monotonic time at which the answer arrived. */
  #told: { readonly nowMs: number; readonly atMs: number } | undefined;

  constructor(options: AcmeClientOptions, http: DirectoryHttp, clock: Clock) {
    this.#options = options;
    this.#http = http;
    this.#clock = clock;
  }

  /** Signs with this key from now on. @param account its URL, if the directory has confirmed it */
  use(key: AccountKey, account: string | undefined): void {
    this.#key = key;
    this.#account = account;
  }

  /** The number of signed requests that have succeeded, which shows whether the directory works. */
  get answers(): number {
    return this.#answers;
  }

  async directory(): Promise<Directory> {
    const nowMs = this.#clock.monotonicMs();
    if (this.#directory === undefined || nowMs - this.#directory.readMs > DIRECTORY_MS) {
      const answer = await this.#repeated({ method: 'GET', url: this.#options.directory });
      if (answer.status !== 200) throw problemOf(answer, this.#clock.nowMs());
      this.#directory = { value: readDirectory(answer.text), readMs: nowMs };
    }
    return this.#directory.value;
  }

  /**
   * Checks this machine's clock against the directory's: with a wrong clock, every certificate would seem to
   * have expired, so no order is begun.
   * @throws DirectoryUnavailable; ClockDiffers when the clock is wrong
   */
  async checkClock(): Promise<void> {
    await this.directory();
    if (this.#told === undefined) return;
    const { nowMs, atMs } = this.#told;
    const aheadMs = this.#clock.nowMs() - (nowMs + this.#clock.monotonicMs() - atMs);
    if (Math.abs(aheadMs) <= CLOCK_MS_MAX) return;
    // The next call reads the directory again, because either clock may have been corrected.
    this.#directory = undefined;
    throw new ClockDiffers(`the clock of this machine is ${apartText(aheadMs)} that of the directory`);
  }

  /** Creates the account, or finds the one that the key has; resolves with its URL. */
  async newAccount(): Promise<string> {
    const { newAccount, needsExternalAccount } = await this.directory();
    const { contact, externalAccount } = this.#options;
    if (needsExternalAccount && externalAccount === undefined)
      throw new AcmeProblem(
        'externalAccountRequired',
        'the directory requires GATEWAY_ACME__EAB_KID and GATEWAY_ACME__EAB_HMAC_KEY',
        0,
      );
    const binding = externalAccount && (await externalBinding(this.#required(), externalAccount, newAccount));
    this.#account = undefined;
    const answer = await this.#post(newAccount, {
      termsOfServiceAgreed: true,
      ...(contact.length > 0 && { contact }),
      ...(binding !== undefined && { externalAccountBinding: binding }),
    }).catch((error: unknown) => {
      throw binding === undefined ? error : withBinding(error);
    });
    const url = answer.header('location');
    if (URL.parse(url)?.protocol !== 'https:')
      throw new DirectoryUnavailable('it sent an account without a URL');
    this.#account = url;
    return url;
  }

  /**
   * Orders a certificate. When this fails with DirectoryUnavailable, the directory may have received the order.
   * @param replaces id of the certificate that it renews, as in RFC 9773 section 4.1
   */
  async newOrder(
    name: string,
    replaces: string | undefined,
  ): Promise<{ readonly url: string; readonly order: Order }> {
    const { newOrder, renewalInfo } = await this.directory();
    const identifiers = [{ type: 'dns', value: name }];
    const renewing = renewalInfo === undefined ? undefined : replaces;
    const payload = { identifiers, ...(renewing !== undefined && { replaces: renewing }) };
    const answer = await this.#post(newOrder, payload, 'once').catch((error: unknown) => {
      // RFC 9773 section 5: for example because another order has replaced that certificate.
      const isAboutReplaces =
        renewing !== undefined &&
        error instanceof AcmeProblem &&
        ['alreadyReplaced', 'malformed', 'conflict'].includes(error.type);
      if (isAboutReplaces) return this.#post(newOrder, { identifiers }, 'once');
      throw error;
    });
    const url = answer.header('location');
    if (URL.parse(url)?.protocol !== 'https:')
      throw new DirectoryUnavailable('it sent an order without a URL');
    return { url, order: readOrder(answer.text) };
  }

  async order(url: string): Promise<Polled<Order>> {
    return this.#polled(await this.#post(url, undefined), readOrder);
  }

  async authorization(url: string): Promise<Polled<Authorization>> {
    return this.#polled(await this.#post(url, undefined), readAuthorization);
  }

  /** Tells the directory that it can verify the answer to a challenge. */
  async respond(challengeUrl: string): Promise<void> {
    await this.#post(challengeUrl, {});
  }

  /** @param csr DER */
  async finalize(url: string, csr: Uint8Array): Promise<Polled<Order>> {
    const payload = { csr: Buffer.from(csr).toString('base64url') };
    return this.#polled(await this.#post(url, payload, 'once'), readOrder);
  }

  /** PEM of a certificate and its chain. */
  async certificate(url: string): Promise<string> {
    return (await this.#post(url, undefined, 'repeat', 'application/pem-certificate-chain')).text;
  }

  /** The newest orders of the account, as far as the directory lists them; undefined when it lists none. */
  async orders(max: number): Promise<readonly string[] | undefined> {
    const answer = await this.#post(this.#account ?? '', undefined);
    let next = readOrdersUrl(answer.text);
    if (next === undefined) return undefined;
    const urls: string[] = [];
    for (let page = 0; next !== undefined && page < ORDER_PAGES_MAX; page += 1) {
      const listed = await this.#post(next, undefined);
      urls.push(...readOrderList(listed.text));
      next = nextPage(listed.headers('link'), next);
    }
    return urls.slice(-max);
  }

  /** When to renew a certificate (RFC 9773); undefined when the directory does not say. */
  async renewalWindow(
    certificateId: string,
  ): Promise<Polled<{ readonly startMs: number; readonly endMs: number }> | undefined> {
    const { renewalInfo } = await this.directory();
    if (renewalInfo === undefined) return undefined;
    const url = `${renewalInfo.replace(/\/$/, '')}/${certificateId}`;
    const answer = await this.#repeated({ method: 'GET', url });
    if (answer.status !== 200) throw problemOf(answer, this.#clock.nowMs());
    return this.#polled(answer, readRenewalWindow);
  }

  #polled<T>(answer: HttpAnswer, read: (text: string) => T): Polled<T> {
    const waitMs = retryWaitMs(answer.header('retry-after'), this.#clock.nowMs());
    return { value: read(answer.text), retryAfterMs: waitMs };
  }

  #required(): AccountKey {
    if (this.#key === undefined) throw new Error('the client has no key yet');
    return this.#key;
  }

  /** @param payload undefined: POST-as-GET (RFC 8555 section 6.3) */
  async #post(
    url: string,
    payload: unknown,
    repeat: Repeat = 'repeat',
    accept?: string,
  ): Promise<HttpAnswer> {
    const text = payload === undefined ? '' : JSON.stringify(payload);
    let [refused, failed] = [0, 0];
    for (;;) {
      const nonce = this.#nonces.pop() ?? (await this.#newNonce());
      const body = await this.#required().sign(text, { nonce, url }, this.#account);
      const answer = await this.#attempt({
        method: 'POST',
        url,
        body,
        ...(accept !== undefined && { accept }),
      });
      if (!(answer instanceof Error) && answer.status >= 200 && answer.status < 300) {
        this.#answers += 1;
        return answer;
      }
      const problem = answer instanceof Error ? answer : problemOf(answer, this.#clock.nowMs());
      if (problem instanceof AcmeProblem && problem.type === 'badNonce') {
        if (++refused > BAD_NONCES_MAX) throw new DirectoryUnavailable('it refuses its own nonces');
        continue;
      }
      if (problem instanceof AcmeProblem || repeat === 'once' || ++failed >= ATTEMPTS_MAX) throw problem;
      await pause(waitMs(failed));
    }
  }

  async #attempt(request: HttpRequest): Promise<HttpAnswer | DirectoryUnavailable> {
    try {
      const answer = await this.#http.send(request);
      const toldMs = Date.parse(answer.header('date'));
      if (!Number.isNaN(toldMs)) this.#told = { nowMs: toldMs, atMs: this.#clock.monotonicMs() };
      const nonce = answer.header('replay-nonce');
      if (NONCE.test(nonce) && this.#nonces.length < NONCES_MAX) this.#nonces.push(nonce);
      return answer;
    } catch (error) {
      if (error instanceof DirectoryUnavailable) return error;
      throw error;
    }
  }

  async #newNonce(): Promise<string> {
    const { newNonce } = await this.directory();
    await this.#repeated({ method: 'HEAD', url: newNonce });
    const nonce = this.#nonces.pop();
    if (nonce === undefined) throw new DirectoryUnavailable('it gives no nonce');
    return nonce;
  }

  /** Sends a request without a signature. */
  async #repeated(request: HttpRequest): Promise<HttpAnswer> {
    for (let failed = 1; ; failed += 1) {
      const answer = await this.#attempt(request);
      if (!(answer instanceof Error) && answer.status < 500) return answer;
      if (failed >= ATTEMPTS_MAX)
        throw answer instanceof Error ? answer : problemOf(answer, this.#clock.nowMs());
      await pause(waitMs(failed));
    }
  }
}

/** `Link: <…>;rel="next"` (RFC 8288). */
function nextPage(links: readonly string[], current: string): string | undefined {
  for (const link of links) {
    const target = /<([^<>]{1,2048})>\s{0,8};[^,]{0,256}rel="?next"?/i.exec(link)?.[1];
    const url = target === undefined ? null : URL.parse(target, current);
    if (url?.protocol === 'https:') return url.href;
  }
  return undefined;
}

function apartText(aheadMs: number): string {
  const hours = Math.abs(aheadMs) / CLOCK_MS_MAX;
  const [count, unit] = hours < 48 ? [hours, 'hours'] : [(hours * CLOCK_MS_MAX) / DAY_MS, 'days'];
  return `${count.toFixed(1)} ${unit} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
}

const waitMs = (failed: number): number => Math.min(WAIT_MS.first * 2 ** (failed - 1), WAIT_MS.max);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Adds a hint about external accounts: an authority that refuses a key, for example because it was used before,
 * has its own wording for it.
 */
function withBinding(error: unknown): unknown {
  if (!(error instanceof AcmeProblem) || error.type === 'rateLimited') return error;
  const { type, status, retryAfterMs, message } = error;
  const said = message.slice(type.length).replace(/^: /, '');
  const detail = `${said} (no account was made with GATEWAY_ACME__EAB_KID: many authorities take such a key for one account only)`;
  return new AcmeProblem(type, detail.trimStart(), status, retryAfterMs);
}
