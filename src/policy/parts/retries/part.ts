/** The policy part `retries`, which proxy/resilience/retry.ts reads for each failure. */
import { definePart, type PartContribution } from '../../part.ts';
import { RETRIES_DOCS } from './docs.ts';
import type { CompiledRetries } from '../../stage.ts';
import { RetriesSchema, type RetriesPolicy, type RetryCondition } from './schema.ts';

const DEFAULT_MAX = 1;
const DEFAULT_ON: ReadonlySet<RetryCondition> = new Set(['connect', 'reset']);
/** The default when no level sets the part; one object, which most routes share. */
export const DEFAULT_RETRIES: CompiledRetries = Object.freeze({ max: DEFAULT_MAX, on: DEFAULT_ON });

export const RETRIES = definePart({
  name: 'retries',
  schema: RetriesSchema,
  docs: RETRIES_DOCS,
  off: {
    example: { max: 0 },
    note: 'nothing is sent again; `{}`: the default',
    is: (retries) => retries.max === 0,
  },
  mayShadow: false,
  explain: { forwarding: (_value, { retries: { max, on } }) => ({ max, on: [...on] }) },
  compile: compileRetries,
});

function compileRetries(retries: RetriesPolicy | undefined): PartContribution {
  if (retries === undefined) return { data: { retries: DEFAULT_RETRIES } };
  const on = retries.on === undefined ? DEFAULT_ON : new Set(retries.on);
  return { data: { retries: Object.freeze({ max: retries.max ?? DEFAULT_MAX, on }) } };
}
