/** Rules over the fields of `cors` that its schema cannot express. Pure. */
import { Value } from 'typebox/value';
import type { FieldError } from '../../../model/errors.ts';
import { parseOrigin } from './origin.ts';
import { CorsSchema, type CorsPolicy } from './schema.ts';

/** Whether a policy may have this `cors`: schema and rules. */
export function isValidCors(cors: CorsPolicy): boolean {
  return Value.Check(CorsSchema, cors) && corsErrors(cors, '').length === 0;
}

export function corsErrors(cors: CorsPolicy, pointer: string): FieldError[] {
  const errors: FieldError[] = [];
  const origins = cors.allowed_origins;
  const anyOrigin = origins.includes('*');
  if (anyOrigin && origins.length > 1) {
    errors.push({ pointer: `${pointer}/allowed_origins`, detail: '"*" cannot be mixed with other origins' });
  }
  if (anyOrigin && cors.allow_credentials === true) {
    errors.push({
      pointer: `${pointer}/allow_credentials`,
      detail: 'cannot be true when allowed_origins is ["*"]: browsers refuse it; list the origins',
    });
  }
  if (cors.allow_credentials === true && origins.includes('null')) {
    errors.push({
      pointer: `${pointer}/allow_credentials`,
      detail:
        'cannot be true when allowed_origins has "null": any page can send that origin by using a sandboxed frame',
    });
  }
  if (cors.allow_credentials === true && cors.expose_headers?.includes('*')) {
    errors.push({
      pointer: `${pointer}/expose_headers`,
      detail: '"*" is not a wildcard when allow_credentials is true; list the headers',
    });
  }
  origins.forEach((origin, index) => {
    if (origin === '*' || origin === 'null' || parseOrigin(origin, true) !== undefined) return;
    errors.push({
      pointer: `${pointer}/allowed_origins/${index}`,
      detail:
        'must be "*", "null", or scheme://host[:port] in ASCII and without a path. The host may stand for all names ' +
        'below another name, as in "https://*.example.com"',
    });
  });
  return errors;
}
