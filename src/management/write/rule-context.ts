/** What rules can use while a record is built, inside the transaction. */
import type { Clock } from '../../lib/clock.ts';
import type { JwtDefaults } from '../../model/auth/jwt-defaults.ts';
import type { RateLimitGlobals } from '../../policy/dependencies.ts';
import type { TrustFacts } from '../../policy/part.ts';
import type { ConfigReader } from '../../storage/repository.ts';

/** Where the gateway may connect (egress/egress.ts). */
export interface EgressCheck {
  /** Why the host is denied; undefined when it is allowed, or when only its address can decide. */
  hostDenial(host: string, port: number): string | undefined;
}

export interface RuleContext {
  readonly egress: EgressCheck;
  readonly reader: ConfigReader;
  readonly clock: Clock;
  readonly policyGlobals: RateLimitGlobals | undefined;
  readonly jwtDefaults: JwtDefaults;
  /**
   * The DNS names of the certificates of the traffic listener; undefined while it does not speak TLS. Absent
   * when warnings are not needed.
   */
  readonly certificateNames?: () => readonly string[] | undefined;
  /** The hosts with ordered certificates. Absent when warnings are not needed. */
  readonly ordered?: { readonly areOrdered: boolean; isOrdered(host: string): boolean };
  /** The names of the certificates for backends. Absent when warnings are not needed. */
  readonly clientCertificateNames?: () => readonly string[];
  /** Whether this gateway reads files that list targets. Absent when warnings are not needed. */
  readonly readsTargetFiles?: boolean;
  /** The certificates that client certificates are verified with. Absent when warnings are not needed. */
  readonly trusted?: TrustFacts;
  /**
   * The values were in force before, as when a configuration file is read at a start: times that had to be in
   * the future may have passed.
   */
  readonly isReplay?: true;
  /**
   * Only for a plan, with a random text: values of declared keys are not compared with stored ones, so that the answer
   * does not confirm that some key has such a value. They are still compared with each other.
   */
  readonly keyBlinding?: string;
}
