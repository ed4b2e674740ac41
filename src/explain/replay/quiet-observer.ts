/** The observer of exchanges that are only tried: nothing is counted, logged or reported. */
import type { ProxyObserver } from '../../proxy/interfaces/observer.ts';

const nothing = (): void => undefined;

export const QUIET_OBSERVER: ProxyObserver = Object.freeze({
  timesUpstream: false,
  policyDecided: nothing,
  exchangeEnded: nothing,
  upstreamFailed: nothing,
  attemptRepeated: nothing,
  retryRefused: nothing,
  deprecatedVersionUsed: nothing,
  backendFailed: nothing,
  breakerChanged: nothing,
  overloaded: nothing,
  handshakeFailed: nothing,
  proxyHeaderRefused: nothing,
  gaveWay: nothing,
  internalError: nothing,
});
