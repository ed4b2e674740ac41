/** An error that stops the start and that an operator can fix: shown as one line, without a stack. */
import { messageOf } from '../lib/error-message.ts';
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}

export function startError(what: string, error: unknown): StartError {
  return new StartError(`${what}: ${messageOf(error)}`, error);
}
