/** Which requests a limit counts together: the `per` of a policy as a function of the request. */
import { addressBlock } from '../../http/address.ts';
import { ownClaim } from '../caller.ts';
import type { Evaluation, RequestFacts } from '../stage.ts';

/** Distinguishes callers under one limit; `''` is the one counter for all of them. */
export type SubjectOf = (facts: RequestFacts, evaluation: Evaluation) => string;

/**
 * The name under which the client's address is counted: for an IPv6 client its network, because it can
 * use every address of it.
 */
export function addressSubject(ipv6PrefixBits: number): (facts: Pick<RequestFacts, 'clientIp'>) => string {
  // Requests of one connection follow each other.
  let lastIp = '';
  let lastBlock = '';
  return ({ clientIp }) => {
    if (clientIp !== lastIp) {
      lastBlock = addressBlock(clientIp, ipv6PrefixBits);
      lastIp = clientIp;
    }
    return lastBlock;
  };
}

/** @param per `scope`, `api_key`, `ip`, `header:<name>` or `claim:<name>` */
export function subjectOf(per: string, ipv6PrefixBits: number): SubjectOf {
  if (per === 'scope') return () => '';
  const ofAddress = addressSubject(ipv6PrefixBits);
  if (per === 'ip') return ofAddress;
  if (per === 'api_key') {
    return (facts, { caller }) => {
      if (caller.kind === 'api_key') return caller.id;
      // The subject of a token, which its holder may have chosen, is not the caller of a certificate of that name.
      if (caller.kind === 'mtls') return `mtls:${caller.id}`;
      // Unknown callers are distinguished by address.
      return caller.id === '' ? `ip:${ofAddress(facts)}` : `sub:${caller.id}`;
    };
  }
  const colon = per.indexOf(':');
  const name = per.slice(colon + 1);
  if (per.startsWith('header:')) {
    const lowerName = name.toLowerCase();
    // Requests without the field share one count: leaving it out must not be a way around the limit.
    return (facts) => facts.header(lowerName) ?? '';
  }
  return (facts, evaluation) => {
    const claims = evaluation.caller.claims;
    const value = claims === undefined ? undefined : ownClaim(claims, name);
    if (value === undefined) return `ip:${ofAddress(facts)}`;
    return `claim:${typeof value === 'string' ? value : JSON.stringify(value)}`;
  };
}
