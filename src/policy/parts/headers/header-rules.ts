/**
 * Rules of a `headers` part beyond its schema: each name may be edited and occurs only once, and each template can be
 * parsed.
 */
import { escapeToken } from '../../../lib/text/json-pointer.ts';
import { isToken } from '../../../http/characters.ts';
import { foldedName } from '../../../lib/folded-name.ts';
import type { FieldError } from '../../../model/errors.ts';
import type { RulesContext } from '../../part.ts';
import { givenAuth } from '../auth/auth-of.ts';
import { fieldNameError, vouchedNames, type NameUse } from './field-names.ts';
import { DIRECTIONS, type Direction, type FieldEdits, type HeadersPolicy } from './schema.ts';
import { parseTemplate } from './template.ts';

const NAME_CHARS_MAX = 256;

export function headerErrors(headers: HeadersPolicy, context: RulesContext): FieldError[] {
  return DIRECTIONS.flatMap((direction) => {
    const edits = headers[direction];
    return edits === undefined ? [] : new EditsCheck(direction, context).errorsOf(edits);
  });
}

/** The edits of one direction, and the names that were seen in them. */
class EditsCheck {
  readonly #direction: Direction;
  readonly #context: RulesContext;
  readonly #vouched: ReadonlySet<string>;
  readonly #seen = new Map<string, string>();
  readonly #errors: FieldError[] = [];

  constructor(direction: Direction, context: RulesContext) {
    this.#direction = direction;
    this.#context = context;
    this.#vouched = vouchedNames([givenAuth(context.policy)]);
  }

  errorsOf({ set = {}, add = {}, remove = [], rename = {} }: FieldEdits): FieldError[] {
    for (const [operation, values] of Object.entries({ set, add })) {
      for (const [name, text] of Object.entries(values)) {
        const at = `${operation}/${escapeToken(name)}`;
        this.#checkName(name, 'write', at);
        this.#checkOnce(name, operation, at);
        this.#checkTemplate(text, at);
      }
    }
    remove.forEach((name, index) => {
      this.#checkName(name, 'pass', `remove/${index}`);
      this.#checkOnce(name, 'remove', `remove/${index}`);
    });
    for (const [name, newName] of Object.entries(rename)) {
      const at = `rename/${escapeToken(name)}`;
      this.#checkName(name, 'pass', at);
      this.#checkOnce(name, 'rename', at);
      const isAllowed = this.#checkName(newName, 'write', at);
      if (isAllowed && this.#seen.get(foldedName(newName)) === 'set')
        this.#add(at, `cannot be the new name "${newName}": set replaces it`);
    }
    return this.#errors;
  }

  #checkName(name: string, use: NameUse, at: string): boolean {
    if (!isToken(name) || name.length > NAME_CHARS_MAX) {
      this.#add(
        at,
        `cannot use the name "${name}": it is not a field name of at most ${NAME_CHARS_MAX} characters`,
      );
      return false;
    }
    const isVouched = this.#direction === 'request' && this.#vouched.has(foldedName(name));
    const error = isVouched ? 'auth manages it' : fieldNameError(name, this.#direction, use);
    if (error !== undefined) this.#add(at, `cannot use the header "${name}": ${error}`);
    return error === undefined;
  }

  #checkOnce(name: string, operation: string, at: string): void {
    const folded = foldedName(name);
    const earlier = this.#seen.get(folded);
    if (earlier === undefined) this.#seen.set(folded, operation);
    else this.#add(at, `cannot use the header "${name}": ${earlier} has the same name`);
  }

  #checkTemplate(text: string, at: string): void {
    const template = parseTemplate(text);
    if ('error' in template) return this.#add(at, template.error);
    const { endpointParameters } = this.#context;
    for (const part of template) {
      if (typeof part === 'string') continue;
      if (part.kind === 'path' && endpointParameters?.includes(part.name) === false)
        this.#add(at, `has "\${path.${part.name}}", which is not a parameter of the endpoint's path`);
      if (part.kind === 'header' && this.#vouched.has(foldedName(part.name)))
        this.#add(at, `cannot have "\${header.${part.name}}": auth manages it`);
    }
  }

  #add(at: string, detail: string): void {
    this.#errors.push({ pointer: `${this.#context.pointer}/${this.#direction}/${at}`, detail });
  }
}
