/** The text of a configuration file. */
import { stringify, type ToStringOptions } from 'yaml';

/** As `headgate config apply` would read them: references, and texts that stand for one. */
const REFERENCE = /\$?\$\{(?:env|file):[^{}]*\}/g;

/** What looks like a reference in a text is escaped, so that a file gives the text as it is. */
export function fileText(value: unknown, options: ToStringOptions = {}): string {
  return stringify(
    value,
    (_name, member: unknown) =>
      typeof member === 'string' ? member.replaceAll(REFERENCE, (found) => `$${found}`) : member,
    options,
  );
}
