/**
 * Value templates: text with `${source}`, where `$${` stands for the text `${`. Parsed when a policy is written and
 * again when it is compiled, never per request. Pure.
 */
import { isToken } from '../../../http/characters.ts';
import { sourceNameError } from './field-names.ts';

const PLAIN_SOURCES = ['caller.id', 'caller.key_name', 'client.ip', 'request.id'] as const;
const NAMED_SOURCES = ['claim', 'header', 'path'] as const;
const NAME_CHARS_MAX = 256;
/** The form of the names of path parameters of an endpoint. */
const PARAMETER = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const KNOWN = [
  ...PLAIN_SOURCES.map((source) => `\${${source}}`),
  ...NAMED_SOURCES.map((source) => `\${${source}.<name>}`),
].join(', ');

export type Source =
  | { readonly kind: (typeof PLAIN_SOURCES)[number] }
  /** The names of headers are in lower case. */
  | { readonly kind: (typeof NAMED_SOURCES)[number]; readonly name: string };

/** Texts and sources in their order. */
export type Template = readonly (string | Source)[];

export interface TemplateError {
  /** Follows the name of the field. */
  readonly error: string;
}

export function parseTemplate(text: string): Template | TemplateError {
  const parts: (string | Source)[] = [];
  let literal = '';
  for (let from = 0; from < text.length;) {
    const open = text.indexOf('${', from);
    if (open < 0) {
      literal += text.slice(from);
      break;
    }
    if (open > from && text[open - 1] === '$') {
      literal += `${text.slice(from, open - 1)}\${`;
      from = open + 2;
      continue;
    }
    const close = text.indexOf('}', open);
    if (close < 0) return { error: 'has a "${" without its "}"; "$${" stands for the text "${"' };
    const source = parseSource(text.slice(open + 2, close));
    if ('error' in source) return source;
    literal += text.slice(from, open);
    if (literal !== '') parts.push(literal);
    parts.push(source);
    literal = '';
    from = close + 1;
  }
  if (literal !== '') parts.push(literal);
  const error = literalError(parts);
  return error === undefined ? parts : { error };
}

function parseSource(text: string): Source | TemplateError {
  const plain = PLAIN_SOURCES.find((source) => source === text);
  if (plain !== undefined) return { kind: plain };
  const kind = NAMED_SOURCES.find((source) => text.startsWith(`${source}.`));
  const name = kind === undefined ? '' : text.slice(kind.length + 1);
  if (kind === undefined || name === '')
    return { error: `has the unknown source "\${${text}}"; the known sources are ${KNOWN}` };
  if (name.length > NAME_CHARS_MAX)
    return { error: `has a name of more than ${NAME_CHARS_MAX} characters in "\${${kind}.…}"` };
  if (kind === 'claim') return { kind, name };
  if (kind === 'path') {
    return PARAMETER.test(name)
      ? { kind, name }
      : { error: `has "\${${text}}", which names no path parameter` };
  }
  if (!isToken(name)) return { error: `has "\${${text}}", which names no header` };
  const error = sourceNameError(name);
  return error === undefined
    ? { kind, name: name.toLowerCase() }
    : { error: `cannot have "\${${text}}": ${error}` };
}

/** Text of the policy is sent unchanged, so it must be a valid field value (RFC 9110 section 5.5). */
function literalError(parts: Template): string | undefined {
  if (parts.some((part) => typeof part === 'string' && !/^[\t\x20-\x7e]*$/.test(part)))
    return 'must contain only visible ASCII characters, spaces and tabs';
  const [first] = parts;
  const last = parts.at(-1);
  const hasBlankEnd =
    (typeof first === 'string' && /^[\t ]/.test(first)) || (typeof last === 'string' && /[\t ]$/.test(last));
  return hasBlankEnd ? 'must not begin or end with a space or a tab' : undefined;
}
