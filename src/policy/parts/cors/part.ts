/**
 * The policy part `cors`; cors.ts makes its header lines, cors-shadow.ts has its behaviour in shadow mode. It denies
 * nothing: a browser refuses what the header lines do not grant.
 */
import { definePart, type WarningRule } from '../../part.ts';
import { CORS_DOCS } from './docs.ts';
import { corsErrors } from './cors-rules.ts';
import { corsShadowStage } from './cors-shadow.ts';
import { compileCors } from './cors.ts';
import { translatesGrpcWeb } from '../grpc-web/part.ts';
import { corsExplain } from './explain.ts';
import { CorsSchema, type CorsPolicy } from './schema.ts';

const corsWithoutOrigins: WarningRule<CorsPolicy> = {
  code: 'cors_without_origins',
  title: '`cors` has other fields, but no allowed origin: it is off',
  advice: 'List the origins, or leave the other fields out to switch an inherited `cors` off',
  find: (cors, { isOwn, pointer }) => {
    if (!isOwn || cors.allowed_origins.length > 0 || Object.keys(cors).length === 1) return [];
    const what = 'No origin is allowed, so that the other fields of cors have no effect';
    return [{ pointer: `${pointer}/allowed_origins`, what }];
  },
};

const FOR_GRPC_WEB = 'grpc-web';

export const CORS = definePart({
  name: 'cors',
  schema: CorsSchema,
  docs: CORS_DOCS,
  off: { example: { allowed_origins: [] }, is: (cors) => cors.allowed_origins.length === 0 },
  mayShadow: true,
  stages: [{ name: 'cors', phase: 'browser' }],
  warnings: [corsWithoutOrigins],
  explain: corsExplain,
  rules: (cors, { pointer }) => corsErrors(cors, pointer),
  // A page must be able to read them.
  marksUnmatched: (cors) => cors.allowed_origins.length > 0,
  // With the recent origins.
  prepared: {
    variantOf: (effective) => (translatesGrpcWeb(effective) ? FOR_GRPC_WEB : ''),
    make: (value, variant) => compileCors(value, variant === FOR_GRPC_WEB),
  },
  compile: (_value, { inShadow, prepared: cors }) => {
    if (cors === undefined) return undefined;
    return inShadow ? { stages: [corsShadowStage(cors)] } : { data: { cors } };
  },
});
