/** The reference text of `shadow`. Links are relative to docs/reference/. */
import type { PartDocs, PolicyPart } from '../../part.ts';

const BEFORE = `\`"shadow": ["rate_limit"]\` tries a part in production: it is evaluated, what it would have denied is noted, and the request passes. \`shadow\` is a part itself and merges like one: the most specific level that names any names all. [Try a policy in shadow](../how-to/shadow.md) has the steps.`;

const AFTER = `The report, \`GET /api/v1/apps/{app}/shadow-report\`:

- It counts by endpoint, part and caller, with the last request of each row. A caller is an API key, the subject of a token, or anonymous; for \`auth\` also a key that does not hold here (disabled, expired, or another app's).
- \`from\` begins at a time (to the minute within the last hour, to the hour before). \`part\` and \`endpoint_id\` (\`none\`: what no endpoint matches) choose rows. \`limit\` and \`keys\` bound rows and callers.
- Counts are of all workers up to the call, are kept in memory for seven days, and begin with the start of the gateway. A worker that dies takes at most its last second along.
- \`DELETE\` on the same path (role \`editor\`) begins anew.
- Memory is bounded. A row names its 50 busiest callers and counts the others together. When there is too much to keep, the oldest hours go, which \`since\` tells.

The log has \`would deny\` within a second of the first request of an endpoint and part, then at most every ten seconds with the number of requests. The access log lists the parts in \`would_deny\`. \`headgate_shadow_denials_total\` counts by part.`;

/** @param parts those that may run in shadow */
export function shadowDocs(parts: readonly PolicyPart[]): PartDocs {
  const rows = parts.map(({ name, docs }) => {
    const { request, noted } = docs.inShadow ?? { request: 'passes', noted: 'what would be denied' };
    return `| \`${name}\` | ${request} | ${noted} |`;
  });
  const table = ['| in shadow | the request | is noted |', '| --- | --- | --- |', ...rows].join('\n');
  return {
    summary: 'parts that are only evaluated, counted and logged',
    example: ['auth', 'rate_limit'],
    text: [BEFORE, table, AFTER].join('\n\n'),
  };
}
