/** Stops a start and can be fixed by the operator: shown as one line, without a stack. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}

export function startError(what: string, error: unknown): StartError {
  return new StartError(`${what}: ${error instanceof Error ? error.message : String(error)}`, error);
}
