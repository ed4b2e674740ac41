/** `request-transformer` and `response-transformer`, and `correlation-id`: edits of header fields. */
import type { Item } from '../../imported-route.ts';
import { literalValue } from '../../literal-value.ts';
import type { SourceNode } from '../../source.ts';
import type { KongPlugin } from '../kong-document.ts';
import { NOTHING, type TranslatedPlugin } from './plugin.ts';

type Direction = 'request' | 'response';

interface Edits {
  readonly set: Record<string, string>;
  readonly add: Record<string, string>;
  readonly rename: Record<string, string>;
  readonly remove: string[];
}

const ENTRIES_MAX = 32;
/** Members of an action other than `headers`, and the closest feature. */
const OTHER_PLACES: Readonly<Record<string, string>> = {
  body: 'bodies are passed on unchanged',
  json: 'bodies are passed on unchanged',
  json_types: 'bodies are passed on unchanged',
  querystring: 'query strings are passed on unchanged',
  uri: 'paths are changed at endpoints',
};
const NEAREST: Readonly<Record<string, string>> = { uri: '`backend_path` of an endpoint' };

/** Actions without which the backend gets what it should not: what a client has sent, or another path. */
const PROTECTING_ACTIONS = ['remove', 'rename', 'replace'];

export function transformer(direction: Direction): (plugin: KongPlugin) => TranslatedPlugin {
  return ({ config }) => {
    if (config === undefined) return NOTHING;
    const edits: Edits = { set: {}, add: {}, rename: {}, remove: [] };
    let isWeaker = false;
    for (const action of ['remove', 'rename', 'replace', 'add', 'append']) {
      const given = config.child(action);
      const isWhole = given === undefined || takeAction(edits, action, given, direction);
      if (PROTECTING_ACTIONS.includes(action) && (!isWhole || isUnread(config, action))) isWeaker = true;
    }
    if (config.text('http_method') !== undefined) {
      config.lost('the method is passed on unchanged', undefined, 'http_method');
      isWeaker = true;
    }
    const { set, add, rename, remove } = edits;
    const kept: Item = {
      ...(Object.keys(set).length > 0 && { set }),
      ...(Object.keys(add).length > 0 && { add }),
      ...(remove.length > 0 && { remove }),
      ...(Object.keys(rename).length > 0 && { rename }),
    };
    return {
      ...(Object.keys(kept).length === 0 ? NOTHING : { parts: { headers: { [direction]: kept } } }),
      ...(isWeaker && direction === 'request' && { isWeaker: true as const }),
    };
  };
}

const isUnread = ({ ledger, pointer }: SourceNode, action: string): boolean =>
  ledger.hasUnread(`${pointer}/${action}`);

/** False if a part of the action is not in the edits. */
function takeAction(edits: Edits, action: string, given: SourceNode, direction: Direction): boolean {
  let isWhole = true;
  for (const [place, reason] of Object.entries(OTHER_PLACES)) {
    if (!given.has(place) || given.isEmpty(place)) continue;
    given.lost(reason, NEAREST[place], place);
    isWhole = false;
  }
  for (const { text, node } of given.texts('headers') ?? [])
    if (!take(edits, action, text, node, direction)) isWhole = false;
  return isWhole;
}

/** False if the field is not edited at all. */
function take(edits: Edits, action: string, text: string, node: SourceNode, direction: Direction): boolean {
  const colon = text.indexOf(':');
  const name = (colon < 0 ? text : text.slice(0, colon)).trim();
  const given = colon < 0 ? '' : text.slice(colon + 1).trim();
  if (isNamed(edits, name)) {
    node.lost('is a second edit of one field, and only the first was kept');
    return true;
  }
  if (action === 'remove') {
    if (edits.remove.length < ENTRIES_MAX) return edits.remove.push(text.trim()) > 0;
    node.lost(`is one of more than ${ENTRIES_MAX} edits`);
    return false;
  }
  if (colon < 0) {
    node.lost('has no value');
    return false;
  }
  const list = action === 'rename' ? edits.rename : action === 'replace' ? edits.set : edits.add;
  if (Object.keys(list).length >= ENTRIES_MAX) {
    node.lost(`is one of more than ${ENTRIES_MAX} edits`);
    return false;
  }
  const value = action === 'rename' ? given : templateOf(given, direction);
  if (value === undefined || value === '') {
    node.lost(
      value === '' ? 'has no value' : 'has a template that a value of `headers` cannot express',
      '`${header.name}`, `${claim.name}`',
    );
    return false;
  }
  if (action === 'replace') node.changed('is set also where the field is missing');
  if (action === 'add') node.changed('is added even where the field is already present', '`set`');
  list[name] = value;
  return true;
}

/** A field may be edited only once, however its name is spelled. */
function isNamed({ set, add, rename, remove }: Edits, name: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
  const names = [...Object.keys(set), ...Object.keys(add), ...Object.keys(rename), ...remove];
  return names.some((known) => plain(known) === plain(name));
}

/** Translates `$(headers.name)` in requests; everything else is text. */
function templateOf(given: string, direction: Direction): string | undefined {
  const escaped = literalValue(given);
  if (direction === 'response') return escaped;
  const filled = escaped.replaceAll(
    /\$\(headers(?:\.([A-Za-z0-9_-]+)|\[["']([A-Za-z0-9_-]+)["']\])\)/g,
    (_match, plain: string | undefined, quoted: string | undefined) =>
      `\${header.${(plain ?? quoted ?? '').replaceAll('_', '-')}}`,
  );
  return filled.includes('$(') ? undefined : filled;
}

export function correlationId({ config }: KongPlugin): TranslatedPlugin {
  const name = config?.text('header_name') ?? 'Kong-Request-ID';
  const echo = config?.boolean('echo_downstream') === true;
  const generator = config?.text('generator');
  if (generator !== undefined) config?.changed('is a UUID', undefined, 'generator');
  if (name.toLowerCase() === 'x-request-id') return NOTHING;
  const set = { [name]: '${request.id}' };
  return { parts: { headers: { request: { set }, ...(echo && { response: { set } }) } } };
}
