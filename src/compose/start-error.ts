/** What stops a start and can be mended by the operator: it is shown as one plain line, without a stack. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}

export function startError(what: string, error: unknown): StartError {
  return new StartError(`${what}: ${error instanceof Error ? error.message : String(error)}`, error);
}
