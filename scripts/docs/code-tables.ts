/** docs/reference/settings.md, errors.md and warnings.md, each from the table in the code. Pure. */
import { ERRORS } from '../../src/policy/error-table.ts';
import type { ErrorCode, ErrorRow } from '../../src/model/errors.ts';
import { WARNINGS } from '../../src/policy/policy-warnings.ts';
import type { WarningRow } from '../../src/model/warnings.ts';
import { SETTING_AREAS } from '../../src/settings/settings-table.ts';
import { page, table } from './markdown.ts';
import type { Setting } from '../../src/settings/settings-values.ts';

export function settingsPage(): string {
  return page(
    'Settings',
    `Settings are environment variables. An empty value counts as unset; spaces around a value are ignored. Booleans are
\`true\`, \`false\`, \`1\` or \`0\`. A wrong value stops the start with a message that names the variable, the value
and what was expected; all such messages appear together. An unknown variable whose name starts with \`GATEWAY_\` is
ignored, with a warning. \`headgate settings --describe\` prints this list, \`headgate settings\` the values of a
running gateway.`,
    ...SETTING_AREAS.map(
      ({ title, settings }) => `## ${title}

${settingsTable(settings)}`,
    ),
  );
}

function settingsTable(settings: Readonly<Record<string, Setting<unknown>>>): string {
  const rows = Object.entries(settings).map(([name, row]) => [
    `\`${name}\``,
    row.type,
    row.defaultText ??
      (row.default === undefined ? 'unset' : `\`${JSON.stringify(row.default).replaceAll('"', '')}\``),
    row.otherName === undefined
      ? row.description
      : `${row.description} If it is not set, \`${row.otherName}\` applies.`,
  ]);
  return table(['Name', 'Type', 'Default', 'Meaning'], rows);
}

export function errorsPage(): string {
  const rows = (Object.entries(ERRORS) as [ErrorCode, ErrorRow][]).map(([code, row]) => [
    `\`${code}\``,
    String(row.status),
    row.title,
    row.source,
    row.retry,
  ]);
  return page(
    'Errors',
    `Every error of the management API and of the proxy is one \`application/problem+json\` document (RFC 9457) that
can also be read as the envelope of a success. Calls of gRPC get [\`grpc-status\`](backend-connections.md#grpc) instead.
The form of the document is fixed; [header fields](../how-to/headers.md#of-responses) can be added to errors of an app.
Errors of backends are passed on as they are.

| Member | Meaning |
| --- | --- |
| \`type\` | \`urn:headgate:error:<code>\` |
| \`title\` | as in the table below |
| \`status\` | the HTTP status |
| \`detail\`, \`message\` | what was wrong with this request, in a plain sentence. On the traffic port it names no addresses, labels or other endpoints: operators find those by \`request_id\` in the access log and with \`GET /explain/{request_id}\` |
| \`instance\` | the path of the request |
| \`code\` | the stable name of the error, for programs |
| \`data\` | always \`null\` |
| \`request_id\` | the id that the log lines of the exchange carry |
| \`trace_id\` | the id of the trace, on the traffic port while [traces](traces.md) are exported |
| \`errors\` | with \`validation_failed\`: \`[{pointer, detail}]\`, one for each field, \`pointer\` as in RFC 6901 |

Source says where the cause is: \`downstream\` in the request, \`upstream\` in the backend, \`gateway\` in the
gateway or its configuration. Retry says whether a client may send the same request again: \`safe\`, no backend has
acted on it and it may succeed later; \`idempotent\`, a backend may have acted on it, so only an idempotent request
may be repeated; \`never\`, it fails again unless the request or the configuration changes.`,
    table(['Code', 'Status', 'Title', 'Source', 'Retry'], rows),
  );
}

export function warningsPage(): string {
  const rows = Object.entries<WarningRow>(WARNINGS).map(([code, row]) => [
    `\`${code}\``,
    row.title,
    row.advice,
  ]);
  return page(
    'Warnings',
    `A write that is valid but probably a mistake succeeds, and its answer has \`warnings\` beside \`data\`. So do the
answers of a dry run (\`?dry_run=true\`, also of a deletion), of \`effective-policy\`, and of a plan, an apply, a rollback and a
transaction. Without warnings the field is absent. The command line writes them to standard error; warnings about configuration files
that a gateway itself reads are in its log.

| Member | Meaning |
| --- | --- |
| \`pointer\` | the field, as in RFC 6901: it points into the written record, into the answer of \`effective-policy\`, into the body of a plan, an apply or a transaction, or, for a rollback, into the declared configuration; empty: the record as a whole |
| \`code\` | the stable name of the warning, for programs |
| \`detail\` | what was found, and what was probably intended |

Warnings are about the record after the write and the traffic that the write changes. A part that a record inherits is
checked where it is written, and by \`effective-policy\`. A deletion answers 204 without a body, so only its dry run
can return warnings. A plan, an apply and a rollback warn about the first 1,000 records that they change, at most 100 times; a
transaction warns about its operations. They check the final state, so a revision whose endpoints are created with it is not reported as empty. Scopes are looked up in the newest 1,000 keys of an app; if the app has more keys, a missing scope is not reported.`,
    table(['Code', 'Meaning', 'What to do'], rows),
  );
}
