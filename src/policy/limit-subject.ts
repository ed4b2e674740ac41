/** Whose requests a limit or cap counts together: the `per` of a policy as a function of the request. */
import { ownClaim } from './jwt-claims.ts';
import type { Evaluation, RequestFacts } from './stage.ts';

/** Tells callers under one limit apart; `''` is the one counter of everybody. */
export type SubjectOf = (facts: RequestFacts, evaluation: Evaluation) => string;

/** @param per `scope`, `api_key`, `ip`, `header:<name>` or `claim:<name>` */
export function subjectOf(per: string): SubjectOf {
  if (per === 'scope') return () => '';
  if (per === 'ip') return (facts) => facts.clientIp;
  if (per === 'api_key') return callerSubject;
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
    if (value === undefined) return `ip:${facts.clientIp}`;
    return `claim:${typeof value === 'string' ? value : JSON.stringify(value)}`;
  };
}

/** By key or subject; callers of whom nothing is known are told apart by address. */
function callerSubject(facts: RequestFacts, evaluation: Evaluation): string {
  const { caller } = evaluation;
  if (caller.kind === 'api_key') return caller.id;
  return caller.id === '' ? `ip:${facts.clientIp}` : `sub:${caller.id}`;
}
