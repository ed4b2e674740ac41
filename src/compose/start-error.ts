/** An error that stops the start and that an operator can fix: shown as one line, without a stack. */
import { systemReason } from '../lib/error-message.ts';

export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}

/** @param what what was wanted, such as `traffic` @param at its address or path */
export function listenError(what: string, at: string, error: unknown): StartError {
  const text = `Cannot listen for ${what} on ${at}: ${systemReason(error)}; headgate doctor says what to do`;
  return new StartError(text, error);
}

export function startError(what: string, error: unknown): StartError {
  return new StartError(`${what}: ${systemReason(error)}`, error);
}
