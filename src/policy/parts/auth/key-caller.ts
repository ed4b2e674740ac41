/** The caller of an API key. Owns the prepared forms of a bounded number of scope lists. */
import type { PresentedKey } from '../../../keys/presented-key.ts';
import { fieldLine, scopesLine } from '../../caller.ts';
import type { Caller } from '../../stage.ts';

const SCOPE_FORMS_MAX = 1024;

/** A list of scopes in the form for stages, and as the header line for the upstream. */
interface ScopeForms {
  readonly held: ReadonlySet<string>;
  readonly line: string;
}

/** By list object: keys with equal scopes mostly share it (presented-key.ts). */
const scopeForms = new Map<readonly string[], ScopeForms>();

function formsOf(scopes: readonly string[]): ScopeForms {
  const known = scopeForms.get(scopes);
  if (known !== undefined) return known;
  const forms = { held: new Set(scopes), line: scopesLine(scopes) };
  if (scopeForms.size >= SCOPE_FORMS_MAX) scopeForms.clear();
  scopeForms.set(scopes, forms);
  return forms;
}

/** Not frozen, which would cost as much as everything else here. */
export function callerOfKey({ id, name, rateLimit, scopes }: PresentedKey): Caller {
  const { held, line } = formsOf(scopes);
  return {
    kind: 'api_key',
    id,
    name,
    scopes: held,
    claims: undefined,
    keyRateLimit: rateLimit,
    upstreamHeaderLines: fieldLine('X-Headgate-Key-Id', id) + fieldLine('X-Headgate-Key-Name', name) + line,
    usagePlace: 0,
  };
}
