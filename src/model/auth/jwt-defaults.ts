/** The settings `GATEWAY_JWT__*`: each applies where a policy's `auth.jwt` leaves the same field out. */
import type { JwtAlgorithm } from './jwt-algorithms.ts';

export interface JwtDefaults {
  readonly issuer: string | undefined;
  /** Empty: any audience. */
  readonly audiences: readonly string[];
  readonly jwksUri: string | undefined;
  readonly secret: string | undefined;
  /** Empty: all that fit the kind of key. */
  readonly algorithms: readonly JwtAlgorithm[];
  readonly leewaySecs: number;
}
