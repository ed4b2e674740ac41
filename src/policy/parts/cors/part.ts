/**
 * The policy part `cors`; cors.ts has its header lines, cors-shadow.ts what it does in shadow mode. It denies nothing:
 * a browser refuses what the header lines do not grant.
 */
import { Value } from 'typebox/value';
import type { FieldError } from '../../../model/errors.ts';
import { definePart, type WarningRule } from '../../part.ts';
import { corsShadowStage } from './cors-shadow.ts';
import { compileCors } from './cors.ts';
import { parseOrigin } from './origin.ts';
import { CorsSchema, type CorsPolicy } from './schema.ts';

const corsWithoutOrigins: WarningRule<CorsPolicy> = {
  code: 'cors_without_origins',
  title: '`cors` has settings, but no allowed origin: it is off',
  advice: 'List the origins, or leave the other fields out to switch an inherited `cors` off',
  find: (cors, { isOwn, pointer }) => {
    if (!isOwn || cors.allowed_origins.length > 0 || Object.keys(cors).length === 1) return [];
    const what = 'No origin is allowed, so that the other fields of cors have no effect';
    return [{ pointer: `${pointer}/allowed_origins`, what }];
  },
};

export const CORS = definePart({
  name: 'cors',
  schema: CorsSchema,
  docs: {
    summary: 'what browsers on other origins may do',
    example: { allowed_origins: ['https://app.example.com'], allow_credentials: true, max_age_secs: 600 },
  },
  off: { example: { allowed_origins: [] }, is: (cors) => cors.allowed_origins.length === 0 },
  mayShadow: true,
  stages: [{ name: 'cors', phase: 'browser' }],
  warnings: [corsWithoutOrigins],
  rules: (cors, { pointer }) => corsErrors(cors, pointer),
  // A page must be able to read them.
  marksUnmatched: (cors) => cors.allowed_origins.length > 0,
  compile: (value, { inShadow }) => {
    const cors = compileCors(value);
    if (cors === undefined) return undefined;
    return inShadow ? { stages: [corsShadowStage(cors)] } : { data: { cors } };
  },
});

/** Whether a policy may have this `cors`: schema and rules. */
export function isValidCors(cors: CorsPolicy): boolean {
  return Value.Check(CorsSchema, cors) && corsErrors(cors, '').length === 0;
}

function corsErrors(cors: CorsPolicy, pointer: string): FieldError[] {
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
        'cannot be true when allowed_origins has "null": any page can send that origin, from a sandboxed frame',
    });
  }
  if (cors.allow_credentials === true && cors.expose_headers?.includes('*')) {
    errors.push({
      pointer: `${pointer}/expose_headers`,
      detail: '"*" is no wildcard when allow_credentials is true; list the headers',
    });
  }
  origins.forEach((origin, index) => {
    if (origin === '*' || origin === 'null' || parseOrigin(origin, true) !== undefined) return;
    errors.push({
      pointer: `${pointer}/allowed_origins/${index}`,
      detail:
        'must be "*", "null", or scheme://host[:port] in ASCII and without a path, where the host may be a name ' +
        'below another, as in "https://*.example.com"',
    });
  });
  return errors;
}
