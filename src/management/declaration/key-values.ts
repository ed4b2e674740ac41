/** Values of API keys in a declared configuration: which keys have one, and whether it is written in the file. */
import { startOf } from '../../declaration/field-lines.ts';
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import type { DeclaredDocument, Problem } from '../../declaration/yaml-reader.ts';
import type { Item } from './levels.ts';

interface DeclaredKey {
  readonly pointer: string;
  readonly item: Item;
}

/** The keys of a tree, which may be malformed. */
export function declaredKeys(tree: unknown): DeclaredKey[] {
  return membersIn(tree, 'apps').flatMap(([slug, app]) =>
    membersIn(app, 'keys').map(([label, key]) => ({
      pointer: `/apps/${escapeToken(slug)}/keys/${escapeToken(label)}`,
      item: isObject(key) ? key : {},
    })),
  );
}

export function hasValue({ item }: DeclaredKey): boolean {
  return item['token'] !== undefined || item['token_sha256'] !== undefined;
}

/**
 * Problems for values of keys that are written in a file: files are copied and kept for years, so the value must be
 * elsewhere, and the file must refer to it.
 */
export function literalKeyValues(document: DeclaredDocument): Problem[] {
  return declaredKeys(document.value).flatMap(({ pointer, item: { token } }) => {
    if (typeof token !== 'string' || /^\$\{(?:env|file):[^{}]*\}$/.test(token)) return [];
    const at = `${pointer}/token`;
    const place = document.locate(at) ?? startOf(document.file);
    const detail =
      'must be one reference, such as "${env:MOBILE_KEY}" or "${file:mobile.key}"; or give the SHA-256 of the value in token_sha256';
    return [{ ...place, pointer: at, detail }];
  });
}

function membersIn(value: unknown, collection: string): [string, unknown][] {
  const items = isObject(value) ? value[collection] : undefined;
  return isObject(items) ? Object.entries(items) : [];
}
