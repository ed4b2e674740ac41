/**
 * How commands show field errors of the gateway: each on a line of its own, in the form of `errorLine`. A command that
 * has sent a file shows their places in the file.
 */
import { errorLine } from '../../declaration/field-lines.ts';
import type { Place, Problem } from '../../declaration/yaml-reader.ts';
import type { FieldError } from '../../model/errors.ts';
import { printable, type CliIo } from '../io.ts';

interface Refusal {
  readonly detail: string;
  readonly errors: readonly FieldError[];
}

/** The detail and all field errors, none of them twice. */
export function refusalText(refusal: Refusal): string {
  const lines = refusal.errors.map((error) => printable(errorLine(error)));
  return [...headlineOf(refusal), ...lines].join('\n  ');
}

/** The detail, unless it only names the first field error and counts the others. */
function headlineOf({ detail, errors: [first] }: Refusal): string[] {
  return first !== undefined && detail.startsWith(errorLine(first)) ? [] : [printable(detail)];
}

/** Writes a refusal with the places of its field errors in the file that was sent. */
export function writeRefusal(refusal: Refusal, inFile: (error: FieldError) => Problem, io: CliIo): void {
  for (const headline of headlineOf(refusal)) io.err(`headgate: ${headline}\n`);
  writeProblems(refusal.errors.map(inFile), io);
}

export function writeProblems(problems: readonly Problem[], io: CliIo): void {
  for (const problem of problems) io.err(`${printable(errorLine(problem))}\n`);
}

/**
 * A function that gives an error or a warning its place in the file that was sent.
 * @param part pointer of the content of the file in the body
 */
export function inFileAt(
  part: string,
  locate: (pointer: string) => Place,
): <T extends { readonly pointer: string }>(found: T) => T & Place {
  return (found) => {
    const pointer = found.pointer.startsWith(part) ? found.pointer.slice(part.length) : found.pointer;
    return { ...found, ...locate(pointer), pointer };
  };
}
