/**
 * The field of a route's credential if it is not `Authorization` (`auth.in`): the field contains the bare token, and
 * `Authorization` is an ordinary field. Created once per policy. Pure.
 */
import { foldedName } from '../../../lib/folded-name.ts';
import { isAuthorization } from './credential-header.ts';
import type { AuthPolicy } from './schema.ts';
import type { AppName } from '../../../model/resources.ts';
import type { Challenge } from './auth-reasons.ts';
import type { CredentialPlace } from '../../stage.ts';

/** @returns undefined for `Authorization`, and without authentication */
export function credentialPlace(auth: AuthPolicy | undefined): CredentialPlace | undefined {
  if (
    auth?.in === undefined ||
    auth.auth_type === 'none' ||
    auth.auth_type === 'mtls' ||
    isAuthorization(auth.in)
  )
    return undefined;
  return Object.freeze({
    name: auth.in,
    lowerName: auth.in.toLowerCase(),
    foldedName: foldedName(auth.in),
  });
}

/** The protection space and field that a challenge tells clients. */
export function challengeOf(
  app: AppName,
  place: CredentialPlace | undefined,
  auth: AuthPolicy | null | undefined,
): Challenge {
  const isJwt = auth?.auth_type === 'jwt';
  const isCertificate = auth?.auth_type === 'mtls';
  return Object.freeze({ realm: app.slug, field: place && { name: place.name, isJwt }, isCertificate });
}
