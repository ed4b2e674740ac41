/** Reads the files that a command names, and says what is wrong with them in places that an editor can open. */
import { mergeDocuments, text } from '../../declaration/merge-documents.ts';
import { readFiles, readReferenced } from '../../declaration/read-files.ts';
import { resolveReferences } from '../../declaration/references.ts';
import type { DeclaredDocument, Place, Problem } from '../../declaration/yaml-reader.ts';
import { coerceReferences } from '../../management/declaration/coerce.ts';
import { DOCUMENT_SCHEMA } from '../../management/declaration/document-schema.ts';
import type { CliIo } from '../io.ts';

export interface DeclaredFiles {
  /** As they are written, references included: what a plan may hold. */
  readonly documents: readonly DeclaredDocument[];
  /** Merged, with references resolved. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Where a value stands. */
  locate(pointer: string): Place;
}

export function readDeclared(paths: readonly string[], io: CliIo): DeclaredFiles | readonly Problem[] {
  const { documents, problems } = readFiles(paths, io.readStdin);
  return problems.length > 0 ? problems : resolveDeclared(documents, io);
}

export function resolveDeclared(
  documents: readonly DeclaredDocument[],
  io: CliIo,
): DeclaredFiles | readonly Problem[] {
  const problems: Problem[] = [];
  const resolved = documents.map((document) => {
    const result = resolveReferences(document, { env: io.env, file: readReferenced });
    problems.push(...result.problems);
    return { ...document, value: coerceReferences(result.value, DOCUMENT_SCHEMA, result.whole) };
  });
  const merged = mergeDocuments(resolved);
  problems.push(...merged.problems);
  if (problems.length > 0) return problems;
  return { documents, config: merged.value, locate: (pointer) => merged.locate(pointer) };
}

/** `file:line:column: pointer detail`, as compilers write it. */
export function problemLine(problem: Problem): string {
  const where = problem.pointer === '' ? '' : `${problem.pointer} `;
  return `${text(problem)}: ${where}${problem.detail}`;
}
