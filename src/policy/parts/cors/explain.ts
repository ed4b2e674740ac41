/** Explains what a browser refuses, and offers a fix where the policy can allow it. */
import { isKind } from '../../../model/reason.ts';
import type { PartExplain } from '../../part-explain.ts';
import { isValidCors } from './cors-rules.ts';
import { CORS_REFUSED, refusal, type CorsRefusal } from './cors-shadow.ts';
import type { CorsPolicy } from './schema.ts';

export const corsExplain: PartExplain<CorsPolicy> = {
  browserRefusal: ({ cors }, facts) => {
    const refused = cors && refusal(cors, facts);
    return refused && { kind: CORS_REFUSED, data: refused };
  },
  fix: (denial, cors) => {
    if (!isKind(denial, CORS_REFUSED)) return undefined;
    const { field, lacks } = denial.data;
    const wider = cors && widened(cors, denial.data);
    if (wider === undefined) {
      const detail = `Send another request. ${CORS_REFUSED.detail(denial.data)}`;
      return { action: 'correct_request', detail };
    }
    const detail =
      field === 'allow_credentials'
        ? 'Set cors.allow_credentials to true, for the policy'
        : `Add ${lacks.join(', ')} to cors.${field}`;
    return { action: 'set_policy', detail, target: { part: 'cors' }, value: { cors: wider } };
  },
};

/** @returns undefined where no valid policy grants it */
function widened(cors: CorsPolicy, { field, lacks }: CorsRefusal): CorsPolicy | undefined {
  const isSwitch = field === 'allow_credentials';
  const wider: CorsPolicy = isSwitch
    ? { ...cors, allow_credentials: true }
    : { ...cors, [field]: [...(cors[field] ?? []), ...lacks] };
  const isGrantable = isSwitch || (lacks.length > 0 && lacks.every((item) => item !== ''));
  // Names of methods are granted in upper case only.
  const isUpperCase = field !== 'allowed_methods' || lacks.every((method) => method === method.toUpperCase());
  return isGrantable && isUpperCase && isValidCors(wider) ? wider : undefined;
}
