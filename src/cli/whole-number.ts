/** Numbers that flags and arguments give. */
import { CliError, printable } from './io.ts';

/** @param flag with its dashes @throws CliError when the text is not a config version */
export function configVersion(flag: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CliError(`${flag} "${printable(text)}" must be a config version`);
}

/** @param what the flag or the argument, for the message @throws CliError when it is not in the range */
export function wholeNumber(what: string, text: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const number = Number(text);
  if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new CliError(`${what} "${printable(text)}" must be a whole number ${range}`);
}
