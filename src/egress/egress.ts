/**
 * Whether the gateway may connect to an address on its own behalf: to backends, for health checks, for key sets
 * (docs/reference/backend-connections.md). The rules apply to the address that is connected to, after names are
 * resolved: a name whose address changes between check and use cannot bypass them.
 *
 * 1. GATEWAY_EGRESS__DENY denies its entries.
 * 2. The gateway's own listeners are denied, unless GATEWAY_EGRESS__ALLOW contains the exact address.
 * 3. The default denials apply, unless an entry of GATEWAY_EGRESS__ALLOW that is no wider than the denied block
 *    contains the address.
 * 4. If GATEWAY_EGRESS__ALLOW is set, everything that it does not contain is denied.
 *
 * Unix sockets have a rule of their own (unix-sockets.ts).
 *
 * Owns only the lists. Opens nothing.
 */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { addressForms, blockList, parseBlock, type Block } from './blocks.ts';
import { DEFAULT_DENIALS, DEFAULT_DENIED_BLOCKS } from './default-denials.ts';
import { LISTENER_TEXTS, type OwnListeners } from './own-listeners.ts';
import { realSocketDenial, socketDenial, socketPathOf } from './unix-sockets.ts';

export interface EgressLists {
  /** Addresses, blocks, host names and `*.` followed by a host name. */
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  /** Absolute paths of folders whose Unix sockets may be connected to. */
  readonly unixSocketsFrom: readonly string[];
}

/** Thrown by `lookup`, and so by the socket that connects. */
export class EgressDenied extends Error {
  readonly code = 'EGRESS_DENIED';
}

const isName = (entry: string): boolean => isIP(entry.split('/', 1)[0] ?? '') === 0;
const isNormallyDenied = blockList(DEFAULT_DENIED_BLOCKS);

export class Egress {
  readonly #own: OwnListeners;
  readonly #allowsAll: boolean;
  readonly #allowedNames: (host: string) => boolean;
  readonly #allowedBlocks: readonly Block[];
  readonly #deniedNames: (host: string) => boolean;
  readonly #isDeniedAddress: (address: string) => boolean;
  readonly #unixSocketsFrom: readonly string[];

  constructor({ allow, deny, unixSocketsFrom }: EgressLists, own: OwnListeners) {
    this.#own = own;
    this.#allowsAll = allow.length === 0;
    this.#allowedNames = nameMatcher(allow.filter(isName));
    this.#allowedBlocks = allow.filter((entry) => !isName(entry)).map(parseBlock);
    this.#deniedNames = nameMatcher(deny.filter(isName));
    this.#unixSocketsFrom = unixSocketsFrom;
    this.#isDeniedAddress = blockList(deny.filter((entry) => !isName(entry)));
  }

  /**
   * Why a connection is denied; undefined when it is allowed.
   * @param host as configured: a name, or the address itself without brackets
   * @param address that is connected to
   */
  denial(host: string, address: string, port: number): string | undefined {
    const name = normaliseName(host);
    if (this.#deniedNames(name)) return deniedText(name);
    const forms = addressForms(address);
    const [canonical] = forms;
    if (canonical === undefined) return `${address} is not an IP address`;
    for (const form of forms) {
      if (this.#isDeniedAddress(form)) return deniedText(form);
      const denial = this.#ownDenial(form, port) ?? this.#defaultDenial(form);
      if (denial !== undefined) return denial;
    }
    const isAllowed =
      this.#allowsAll ||
      this.#allowedNames(name) ||
      this.#allowedBlocks.some((block) => block.contains(canonical));
    return isAllowed ? undefined : notAllowedText(canonical);
  }

  /**
   * Like `denial`, before a name is resolved: decides what the configured host alone can decide. Undefined also
   * when only the address can decide.
   */
  hostDenial(host: string, port: number): string | undefined {
    const path = socketPathOf(host);
    if (path !== undefined) return socketDenial(path, this.#unixSocketsFrom);
    const name = normaliseName(host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host);
    if (isIP(name) !== 0) return this.denial(name, name, port);
    if (this.#deniedNames(name)) return deniedText(name);
    // RFC 6761 section 6.3.
    if (name === 'localhost' || name.endsWith('.localhost')) return this.denial(name, '127.0.0.1', port);
    const isHopeless = !this.#allowsAll && this.#allowedBlocks.length === 0 && !this.#allowedNames(name);
    return isHopeless ? notAllowedText(name) : undefined;
  }

  /** Why a Unix socket must not be connected to now, its links followed; undefined when it may. */
  socketDenial(path: string): string | undefined {
    return socketDenial(path, this.#unixSocketsFrom) ?? realSocketDenial(path, this.#unixSocketsFrom);
  }

  /**
   * A `lookup` for sockets that returns only permitted addresses, and fails with `EgressDenied` when there is none.
   * Sockets do not call it for literal addresses; check those with `hostDenial` first.
   */
  lookup(resolve: LookupFunction, port: number): LookupFunction {
    return (host, options, callback) => {
      resolve(host, { ...options, all: true }, (error, found) => {
        if (error !== null) return callback(error, '');
        const addresses = found as unknown as LookupAddress[];
        const permitted = addresses.filter(({ address }) => this.denial(host, address, port) === undefined);
        const [first] = permitted;
        if (first === undefined) callback(this.#refusal(host, addresses, port), '');
        else if (options.all === true) callback(null, permitted);
        else callback(null, first.address, first.family);
      });
    };
  }

  #refusal(host: string, [first]: readonly LookupAddress[], port: number): Error {
    const denial = first && this.denial(host, first.address, port);
    return new EgressDenied(denial ?? `${host} has no address`);
  }

  #ownDenial(address: string, port: number): string | undefined {
    const listener = this.#own.at(address, port);
    if (listener === undefined || this.#isLifted(address, (block) => block.isSingle)) return undefined;
    return `${address} with port ${port} is the ${LISTENER_TEXTS[listener]} listener of this gateway`;
  }

  #defaultDenial(address: string): string | undefined {
    if (!isNormallyDenied(address)) return undefined;
    const denial = DEFAULT_DENIALS.find(
      ({ block }) => block.contains(address) && !this.#isLifted(address, ({ bits }) => bits >= block.bits),
    );
    return denial && `${address} is ${denial.what}; expected GATEWAY_EGRESS__ALLOW to name it`;
  }

  #isLifted(address: string, isNarrow: (block: Block) => boolean): boolean {
    return this.#allowedBlocks.some((block) => isNarrow(block) && block.contains(address));
  }
}

const deniedText = (what: string): string => `${what} is denied by GATEWAY_EGRESS__DENY`;
const notAllowedText = (what: string): string => `${what} is not in GATEWAY_EGRESS__ALLOW`;

/** DNS names are compared without case; a dot at the end only marks the name as complete. */
function normaliseName(host: string): string {
  const lower = host.toLowerCase();
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

function nameMatcher(entries: readonly string[]): (host: string) => boolean {
  if (entries.length === 0) return () => false;
  const whole = new Set<string>();
  const suffixes: string[] = [];
  for (const entry of entries.map(normaliseName)) {
    if (entry.startsWith('*.')) suffixes.push(entry.slice(1));
    else whole.add(entry);
  }
  return (host) => whole.has(host) || suffixes.some((suffix) => host.endsWith(suffix));
}
