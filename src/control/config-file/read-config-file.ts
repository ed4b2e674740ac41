/**
 * Reads the files of `GATEWAY_CONFIG_FILE` into one declared configuration, or reports problems and their places. It
 * must meet further conditions, because it is the whole configuration: it must contain `apps`, so that a file that
 * is empty for a moment removes no route; it must not refer to secrets in a database; and each key must have a
 * value.
 */
import { isObject } from '../../lib/is-object.ts';
import { escapeToken } from '../../lib/text/json-pointer.ts';
import { withLineBreaks } from '../../declaration/field-lines.ts';
import type { Place, Problem } from '../../declaration/yaml-reader.ts';
import { validate } from '../../management/api/validate.ts';
import { readDeclared } from '../../management/declaration/declared-files.ts';
import type { DeclaredTree } from '../../management/declaration/declared-app.ts';
import { DOCUMENT_SCHEMA } from '../../management/declaration/document-schema.ts';
import { declaredKeys, hasValue } from '../../management/declaration/key-values.ts';
import type { FieldError } from '../../model/errors.ts';

export type FileConfig = DeclaredTree & { readonly owner?: string };

/** Returns the place of a value by its pointer. */
export type Locate = (pointer: string) => Place;

export interface ReadConfigFile {
  /** Absolute paths of the referenced files, whether or not they exist; sorted. */
  readonly referenced: readonly string[];
  readonly result:
    | { readonly config: FileConfig; readonly locate: Locate }
    | { readonly problems: readonly Problem[] };
}

export function readConfigFile(path: string, env: (name: string) => string | undefined): ReadConfigFile {
  const names = new Set<string>();
  const files = readDeclared([path], {
    env,
    readStdin: () => new Uint8Array(),
    onReferenced: (file) => names.add(file),
  });
  const referenced = [...names].sort();
  if (!('config' in files)) return { referenced, result: { problems: files } };
  const { config } = files;
  const locate = (pointer: string): Place => files.locate(pointer);
  const errors = withLineBreaks(errorsOf(config), config);
  if (errors.length > 0) return { referenced, result: { problems: placed(errors, locate) } };
  return { referenced, result: { config, locate } };
}

/** Errors with pointers as problems with places. */
export function placed(errors: readonly FieldError[], locate: Locate): Problem[] {
  return errors.map(({ pointer, detail }) => ({ ...locate(pointer), pointer, detail }));
}

function errorsOf(config: Readonly<Record<string, unknown>>): FieldError[] {
  if (config['apps'] === undefined || config['apps'] === null) {
    return [{ pointer: '', detail: 'declares no "apps"; write "apps: {}" to serve nothing' }];
  }
  const errors = validate(DOCUMENT_SCHEMA, config);
  if (errors.length > 0) return errors;
  const withoutValue = declaredKeys(config).filter((key) => !hasValue(key));
  return [
    ...sealedHandles(config, ''),
    ...withoutValue.map(({ pointer }) => ({
      pointer,
      detail:
        'needs a value, since there is no database: token, such as "${env:MOBILE_KEY}", or token_sha256 with the SHA-256 of the value',
    })),
  ];
}

function sealedHandles(value: unknown, pointer: string): FieldError[] {
  if (typeof value === 'string') {
    if (!value.startsWith('${sealed:')) return [];
    const detail =
      'refers to a secret that is stored in a database; give the secret itself, such as ${env:NAME} or ${file:path}';
    return [{ pointer, detail }];
  }
  if (Array.isArray(value)) {
    return value.flatMap((member, index) => sealedHandles(member, `${pointer}/${index}`));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    sealedHandles(member, `${pointer}/${escapeToken(name)}`),
  );
}
