/**
 * Merges several documents into one configuration. Named things (apps, versions, revisions) may be spread over
 * files, so that a team can keep one file for each app or version; every field, endpoint and key may be given only
 * once. A second definition is a problem that names both places, even when both are equal.
 */
import { isObject } from '../lib/is-object.ts';
import { escapeToken } from '../lib/text/json-pointer.ts';
import { fileProblem, positionText, startOf } from './field-lines.ts';
import type { DeclaredDocument, Place, Problem } from './yaml-reader.ts';

/** The members of an object that are collections of named things, and the same for the things in them. */
interface Shape {
  readonly [collection: string]: Shape;
}

/** Endpoints, keys and everything else are leaves: given whole, in one place. */
const APP: Shape = { versions: { revisions: { endpoints: {} } }, keys: {} };
const DOCUMENT_SHAPE: Shape = { apps: APP };

/** Reports at most this many duplicates: a file that is given under two names duplicates everything. */
const PROBLEMS_MAX = 100;

export interface MergedDocuments {
  readonly value: Readonly<Record<string, unknown>>;
  readonly problems: readonly Problem[];
  /** The place of a value, or of the closest value around it. */
  locate(pointer: string): Place;
}

/** Configurations of other programs, by a member that only they have, and the import that reads them. */
const FOREIGN: readonly (readonly [member: string, what: string, command: string])[] = [
  ['_format_version', 'a configuration of Kong', 'headgate import kong'],
  ['openapi', 'an OpenAPI description', 'headgate import openapi'],
  ['swagger', 'an OpenAPI description', 'headgate import openapi'],
];

const EACH_OWNER = '. Plan and apply the files of each owner apart';

/** @param documents at least one, each with its resolved value */
export function mergeDocuments(documents: readonly DeclaredDocument[]): MergedDocuments {
  const problems: Problem[] = [];
  const value: Record<string, unknown> = {};
  const place = (pointer: string): Place => nearestPlace(documents, pointer);
  for (const document of documents) {
    if (document.value === null) continue;
    if (!isObject(document.value)) {
      problems.push(fileProblem(document.file, 'must be a mapping with "apps"'));
      continue;
    }
    const foreign = FOREIGN.find(([member]) => Object.hasOwn(document.value as object, member));
    if (foreign !== undefined) {
      const [, what, command] = foreign;
      problems.push(fileProblem(document.file, `is ${what}; "${command}" converts it`));
      continue;
    }
    mergeInto(value, document.value, DOCUMENT_SHAPE, '', (pointer) => {
      if (problems.length >= PROBLEMS_MAX) return;
      const [first, second] = placesOf(documents, pointer, 2);
      if (first === undefined || second === undefined) return;
      const detail = `is given twice; the first one is at ${positionText(first)}`;
      problems.push({ ...second, pointer, detail: pointer === '/owner' ? `${detail}${EACH_OWNER}` : detail });
    });
  }
  return { value, problems, locate: place };
}

function mergeInto(
  target: Record<string, unknown>,
  source: Readonly<Record<string, unknown>>,
  shape: Shape,
  pointer: string,
  onTwice: (pointer: string) => void,
): void {
  for (const [name, member] of Object.entries(source)) {
    const below = `${pointer}/${escapeToken(name)}`;
    const items = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (items === undefined || !isObject(member)) {
      if (Object.hasOwn(target, name)) onTwice(below);
      else target[name] = member;
      continue;
    }
    const known = (Object.hasOwn(target, name) ? target[name] : undefined) ?? {};
    if (!isObject(known)) {
      onTwice(below);
      continue;
    }
    target[name] = known;
    mergeCollection(known, member, items, below, onTwice);
  }
}

function mergeCollection(
  target: Record<string, unknown>,
  source: Readonly<Record<string, unknown>>,
  shape: Shape,
  pointer: string,
  onTwice: (pointer: string) => void,
): void {
  const isSpreadable = Object.keys(shape).length > 0;
  for (const [name, item] of Object.entries(source)) {
    const below = `${pointer}/${escapeToken(name)}`;
    const known = target[name];
    if (!Object.hasOwn(target, name))
      target[name] = isSpreadable && isObject(item) ? copyOf(item, shape) : item;
    else if (isSpreadable && isObject(item) && isObject(known)) {
      mergeInto(known, item, shape, below, onTwice);
    } else onTwice(below);
  }
}

/** A copy, as deep as merging may write. */
function copyOf(item: Readonly<Record<string, unknown>>, shape: Shape): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  mergeInto(copy, item, shape, '', () => undefined);
  return copy;
}

/** The first places, at most `countMax`. */
function placesOf(documents: readonly DeclaredDocument[], pointer: string, countMax: number): Place[] {
  const found: Place[] = [];
  for (const document of documents) {
    const at = document.locate(pointer);
    if (at !== undefined && found.push(at) === countMax) break;
  }
  return found;
}

/** The place of a value, or of the closest value around it. */
export function nearestPlace(documents: readonly DeclaredDocument[], pointer: string): Place {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const [found] = placesOf(documents, at, 1);
    if (found !== undefined) return found;
  }
  return startOf(documents[0]?.file ?? '');
}
