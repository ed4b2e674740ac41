/**
 * The policy part `allowed_methods`: 405 with `Allow` (RFC 9110 sections 15.5.6 and 10.2.1) for every other method.
 * HEAD is allowed where GET is. OPTIONS is a method like any other; preflights have been answered before.
 */
import { Type } from 'typebox';
import type { FieldError } from '../../../model/errors.ts';
import { TOKEN_OR_STAR_PATTERN } from '../../../model/patterns.ts';
import type { ReasonKind } from '../../../model/reason.ts';
import {
  definePart,
  type CompileContext,
  type PartContribution,
  type RulesContext,
  type WarningRule,
} from '../../part.ts';
import type { Denial } from '../../stage.ts';

const METHOD_NOT_ALLOWED: ReasonKind<readonly string[]> = {
  code: 'method_not_allowed',
  detail: (allowed) =>
    allowed.length === 0 ? 'No method is allowed here' : `Allowed here: ${allowed.join(', ')}`,
  headerLines: (allowed) => `Allow: ${allowed.join(', ')}\r\n`,
};

/** The warning about an endpoint's method, whichever level sets the allowed methods. */
const endpointMethodNotAllowed: WarningRule<readonly string[]> = {
  code: 'endpoint_method_not_allowed',
  title: 'The policy in force does not allow the method of the endpoint: every request gets 405',
  advice: 'Add the method to `allowed_methods`, or override it at the endpoint',
  find: (allowed, { effective, isOwn, pointer, endpoint }) => {
    if (endpoint === undefined || endpoint.method === '*' || allowed.includes('*')) return [];
    const methods = endpoint.method === 'GET' ? ['GET', 'HEAD'] : [endpoint.method];
    if (methods.some((method) => allowed.includes(method))) return [];
    const level = effective.sources[METHODS.name]?.level ?? '';
    const what = `The allowed_methods of the ${level} are ${allowed.join(', ')} and leave ${endpoint.method} out`;
    return [{ pointer: isOwn ? pointer : '/method', what }];
  },
};

export const METHODS = definePart({
  name: 'allowed_methods',
  schema: Type.Array(Type.String({ pattern: TOKEN_OR_STAR_PATTERN, maxLength: 64 }), {
    maxItems: 50,
    uniqueItems: true,
    description: 'HTTP methods that are allowed (405); `["*"]` is every method.',
  }),
  docs: {
    summary: 'allowed HTTP methods',
    example: ['GET', 'POST'],
    inShadow: { request: 'passes', noted: 'requests that would get 405' },
  },
  off: { example: ['*'], is: (methods) => methods.includes('*') },
  mayShadow: true,
  stages: [{ name: 'allowed_methods', phase: 'authorization' }],
  warnings: [endpointMethodNotAllowed],
  explain: {
    fix: (_denial, methods = [], { method }) => ({
      action: 'set_policy',
      detail: `Add ${method} to allowed_methods`,
      target: { part: 'allowed_methods' },
      value: { allowed_methods: [...methods, method] },
    }),
  },
  rules: methodErrors,
  compile: compileMethods,
});

function methodErrors(methods: readonly string[], { pointer }: RulesContext): FieldError[] {
  if (methods.length === 0) {
    return [{ pointer, detail: 'must name at least one method; ["*"] allows every method' }];
  }
  if (methods.length > 1 && methods.includes('*')) {
    return [{ pointer, detail: '"*" cannot be mixed with other methods' }];
  }
  return [];
}

/**
 * Methods are case-sensitive (RFC 9110 section 9.1); names in the configuration are read as upper case, because clients
 * send them so.
 */
function compileMethods(
  methods: readonly string[] | undefined,
  { inShadow }: CompileContext<undefined>,
): PartContribution | undefined {
  if (methods === undefined || methods.includes('*')) return undefined;
  const allowed = new Set(methods.map((method) => method.toUpperCase()));
  if (allowed.has('GET')) allowed.add('HEAD');
  const denial: Denial = Object.freeze({ kind: METHOD_NOT_ALLOWED, data: [...allowed] });
  return {
    stages: [
      {
        part: 'allowed_methods',
        shadow: inShadow,
        run: (facts) => (allowed.has(facts.method) ? undefined : denial),
      },
    ],
  };
}
