/** Reads the files of a configuration, and finds its problems with their places in the files. */
import { mergeDocuments } from '../../declaration/merge-documents.ts';
import { readFiles, readReferenced, referencedPath } from '../../declaration/read-files.ts';
import { resolveReferences } from '../../declaration/references.ts';
import type { DeclaredDocument, Place, Problem } from '../../declaration/yaml-reader.ts';
import { coerceReferences } from './coerce.ts';
import { DOCUMENT_SCHEMA } from './document-schema.ts';
import { literalKeyValues } from './key-values.ts';

export interface DeclaredFiles {
  /** As written, including references: a plan may contain them. */
  readonly documents: readonly DeclaredDocument[];
  /** Merged, with references resolved. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Returns the place of a value. */
  locate(pointer: string): Place;
}

/** The sources of references in files. */
export interface FileSources {
  readonly env: (name: string) => string | undefined;
  readonly readStdin: () => Uint8Array;
  /** Called with each file that a reference names, whether or not it exists. */
  readonly onReferenced?: (path: string) => void;
}

export function readDeclared(
  paths: readonly string[],
  sources: FileSources,
): DeclaredFiles | readonly Problem[] {
  const { documents, problems } = readFiles(paths, sources.readStdin);
  return problems.length > 0 ? problems : resolveDeclared(documents, sources);
}

export function resolveDeclared(
  documents: readonly DeclaredDocument[],
  { env, onReferenced }: FileSources,
): DeclaredFiles | readonly Problem[] {
  const problems: Problem[] = [];
  const file = (path: string, base: string): ReturnType<typeof readReferenced> => {
    onReferenced?.(referencedPath(path, base));
    return readReferenced(path, base);
  };
  const resolved = documents.map((document) => {
    const result = resolveReferences(document, { env, file });
    problems.push(...result.problems, ...literalKeyValues(document));
    return { ...document, value: coerceReferences(result.value, DOCUMENT_SCHEMA, result.whole) };
  });
  const merged = mergeDocuments(resolved);
  problems.push(...merged.problems);
  if (problems.length > 0) return problems;
  return { documents, config: merged.value, locate: (pointer) => merged.locate(pointer) };
}
