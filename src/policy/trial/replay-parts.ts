/** The parts of a policy for a replay: recorded callers replace the verification of tokens. */
import type { PolicyPart } from '../part.ts';
import { AUTH } from '../parts/auth/part.ts';
import type { SharedAuth } from '../parts/auth/auth.ts';
import type { JwtVerifiers } from '../parts/auth/jwt/jwt-verifier.ts';
import { PARTS } from '../registry.ts';

/** @param verifiers they know the tokens that were verified when the requests were recorded */
export function replayParts(verifiers: JwtVerifiers): readonly PolicyPart[] {
  return PARTS.map((part): PolicyPart => {
    if (part.name !== AUTH.name) return part;
    return {
      ...part,
      share: (dependencies, original) => ({
        ...(part.share?.(dependencies, original) as SharedAuth),
        verifiers,
      }),
    };
  });
}
