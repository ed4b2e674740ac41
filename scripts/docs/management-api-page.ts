/**
 * docs/reference/management-api.md: every operation with its role and answer, from the list that the server serves.
 * Pure.
 */
import type { Operation } from '../../src/management/api/operation.ts';
import { code, page, table } from './markdown.ts';

export function managementApiPage(operations: readonly Operation[]): string {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return page(
    'Management API',
    `The management listener (\`GATEWAY_SERVER__HOST\`, \`GATEWAY_SERVER__PORT\`) serves these calls. The running gateway
describes them in full as OpenAPI 3.1 at \`/api/v1/openapi.json\`, and with \`GATEWAY_SERVER__SWAGGER_ENABLED=true\` in
an explorer at \`/swagger-ui/\`.

Every call except those marked "none" needs \`Authorization: Bearer <admin token>\` with at least the role in the table: a
\`viewer\` reads, an \`editor\` writes, an \`admin\` also manages admin tokens and reads the audit log. Bodies are JSON of
at most 1 MiB, of a transaction 8 MiB, of a whole configuration 32 MiB. Unknown fields and query parameters are refused. A write is answered when it is stored and every worker
obeys it. Records have an \`ETag\`; writes honour \`If-Match\` (412), reads \`If-None-Match\` (304).

Lists are in pages of \`limit\` records, oldest first; \`cursor\` is the \`page.next_cursor\` of the previous page.
Filters combine, and \`page.total\` counts what matches:

| filter | finds |
| --- | --- |
| \`q=text\` | records with this text in a name, label, path or description; A to Z in either case, no wildcards |
| \`label=team:billing\` | apps with this label; repeated: with all of them |
| \`status\` | versions with this status, \`current\` or \`not_current\` revisions, \`active\` or \`inactive\` endpoints, \`active\`, \`revoked\` or \`expired\` tokens |
| \`updated_since\` | records that were changed since this RFC 3339 time |`,
    ...tags.map((tag) =>
      section(
        tag,
        operations.filter((operation) => operation.tag === tag),
      ),
    ),
  );
}

function section(tag: string, operations: readonly Operation[]): string {
  const rows = operations.map(({ method, path, access, success, query, summary }) => [
    code(`${method} ${path}`),
    access === 'public' ? 'none' : code(access),
    Object.keys(query.properties ?? {})
      .map(code)
      .join(', '),
    String(success.status),
    summary,
  ]);
  return `## ${tag}\n\n${table(['Call', 'Role', 'Query', 'Answers', 'Meaning'], rows)}`;
}
