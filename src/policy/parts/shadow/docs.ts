/** The reference text of `shadow`. Links are relative to docs/reference/. */
import type { PartDocs, PolicyPart } from '../../part.ts';

const BEFORE = `\`"shadow": ["rate_limit"]\` tries a part in production: it is evaluated, its denials are recorded, and the request passes. \`shadow\` is itself a part and merges like one: only the list of the most specific level applies. [Try a policy in shadow](../how-to/shadow.md) has the steps.`;

const AFTER = `The report, \`GET /api/v1/apps/{app}/shadow-report\`:

- It counts by endpoint, part and caller, with the last request of each row. A caller is an API key, the subject of a token, or anonymous; for \`auth\` it may also be a key that is not valid here (disabled, expired, or of another app).
- \`from\` is the time at which the report begins, rounded to the minute within the last hour, and to the hour before that. \`part\` and \`endpoint_id\` (\`none\`: requests that match no endpoint) select rows. \`limit\` and \`keys\` bound the number of rows and of callers.
- The counts include all workers up to the time of the call. They begin with the start of the gateway and are kept in memory for seven days. If a worker dies, at most its last second is lost.
- \`DELETE\` on the same path (role \`editor\`) resets the counts.
- Memory is bounded. A row names its 50 busiest callers and counts the others together; when far more callers come at once, a part of a named caller's requests may be counted with the others. When the memory is full, the app that has the most in it loses its oldest hours, and its \`since\` says from when its counts are. Within a minute, an app that has thousands of routes with denials gets one row for those beyond its share. Totals are always exact.

The log has \`would deny\` within a second of the first request of an endpoint and part, then at most every ten seconds with the number of requests. The access log lists the parts in \`would_deny\`. \`headgate_shadow_denials_total\` counts by part.`;

/** @param parts those that may run in shadow */
export function shadowDocs(parts: readonly PolicyPart[]): PartDocs {
  const rows = parts.map(({ name, docs }) => {
    const { request, noted } = docs.inShadow ?? { request: 'passes', noted: 'requests that would be denied' };
    return `| \`${name}\` | ${request} | ${noted} |`;
  });
  const table = ['| in shadow | the request | what is recorded |', '| --- | --- | --- |', ...rows].join('\n');
  return {
    summary: 'parts that are only evaluated, counted and logged',
    example: ['auth', 'rate_limit'],
    text: [BEFORE, table, AFTER].join('\n\n'),
  };
}
