/** docs/reference/access-log.md, from the table of fields. Pure. */
import { ACCESS_FIELDS, ACCESS_FIELD_MEANINGS } from '../../src/model/access-fields.ts';
import { code, page, table } from './markdown.ts';

export function accessLogPage(): string {
  const rows = ACCESS_FIELDS.map((name) => {
    const { meaning, absent } = ACCESS_FIELD_MEANINGS[name];
    return [code(name), meaning, absent ?? ''];
  });
  return page(
    'Access log',
    `The access log has one line of JSON for each request; \`msg\` is \`access\`. \`level\`, \`time\` and \`msg\` are in
every line; \`GATEWAY_LOG__ACCESS_FIELDS\` chooses among the fields below, and the order of a line is always this one.
\`GATEWAY_LOG__ACCESS\` chooses the requests: \`all\`, \`errors\` or \`off\`.`,
    table(['Field', 'Meaning', 'Absent'], rows),
  );
}
