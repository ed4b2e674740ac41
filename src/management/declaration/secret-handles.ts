/**
 * Handles of secrets in a declared tree: `${sealed:<pointer>}` stands for the secret that is stored at that place of
 * the tree. A handle works only where a secret belongs, and only within one app, so that a file can neither show a
 * stored secret nor use one of another app.
 */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken, tokensOf, valueAt } from '../../lib/text/json-pointer.ts';
import type { AppTree } from '../../model/config.ts';
import type { FieldError } from '../../model/errors.ts';
import { maskRecord, MASK } from '../write/policy-secrets-view.ts';
import { LEVELS, type Item } from './levels.ts';

const HANDLE = /^\$\{sealed:(\/.*)\}$/;

export function isHandle(value: unknown): boolean {
  return typeof value === 'string' && HANDLE.test(value);
}

/** Most items have no handle, and need no copy. */
function mentionsHandle(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('${sealed:');
  return typeof value === 'object' && value !== null && Object.values(value).some(mentionsHandle);
}

/**
 * @param slug slug of the app that contains the item
 * @param stored the stored app; undefined for a new one
 * @returns the item with its secrets, or errors with pointers that begin at the item
 */
export function openHandles(
  item: Item,
  slug: string,
  stored: AppTree | undefined,
): Item | readonly FieldError[] {
  if (!mentionsHandle(item)) return item;
  const errors: FieldError[] = [];
  const refuse = (pointer: string, detail: string): null => {
    errors.push({ pointer, detail });
    return null;
  };
  const open = (value: unknown, masked: unknown, pointer: string): unknown => {
    if (typeof value === 'string') {
      if (!value.includes('${sealed:')) return value;
      const [, place] = HANDLE.exec(value) ?? [];
      if (place === undefined || masked !== MASK) {
        return refuse(pointer, 'is not a secret, so it must not contain the handle of a stored secret');
      }
      if (!place.startsWith(`/apps/${slug}/`)) {
        return refuse(
          pointer,
          `names a secret of another app, ${place}; give the secret itself, for example with \${env:NAME}`,
        );
      }
      const secret = stored === undefined ? undefined : secretAt(stored, place);
      return (
        secret ??
        refuse(
          pointer,
          `names a secret that is not stored here, ${place}; give the secret itself, for example with \${env:NAME}`,
        )
      );
    }
    if (Array.isArray(value)) {
      const maskedItems = Array.isArray(masked) ? (masked as readonly unknown[]) : [];
      return value.map((member, index) => open(member, maskedItems[index], `${pointer}/${index}`));
    }
    if (!isObject(value)) return value;
    const maskedMembers = isObject(masked) ? masked : {};
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        open(member, maskedMembers[name], `${pointer}/${escapeToken(name)}`),
      ]),
    );
  };
  const opened = open(item, maskRecord(item), '') as Item;
  return errors.length === 0 ? opened : errors;
}

function secretAt(tree: AppTree, place: string): string | undefined {
  const [, , ...tokens] = tokensOf(place);
  const found = below(tree, tokens);
  return typeof found === 'string' ? found : undefined;
}

/** The value at a place of an app's tree, by labels. */
function below({ app, versions }: AppTree, tokens: readonly string[]): unknown {
  if (tokens[0] !== 'versions') return fieldAt(LEVELS.app.itemOf(app, app.slug), tokens);
  const version = versions.find((tree) => tree.version.version === tokens[1]);
  if (tokens[2] !== 'revisions') return undefined;
  const revision = version?.revisions.find((tree) => tree.revision.revision === tokens[3]);
  if (revision === undefined) return undefined;
  if (tokens[4] !== 'endpoints') return fieldAt({ ...revision.revision }, tokens.slice(4));
  const endpoint = revision.endpoints.find((record) => LEVELS.endpoint.labelOf(record) === tokens[5]);
  return endpoint && fieldAt({ ...endpoint }, tokens.slice(6));
}

function fieldAt(item: Item, tokens: readonly string[]): unknown {
  return valueAt(item, tokens.map((token) => `/${escapeToken(token)}`).join(''));
}
