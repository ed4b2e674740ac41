/**
 * Thrown when records of the configuration do not fit together. The management API then refuses the write, and nothing
 * has been stored. At the start of a process it stops the start.
 */
export class CompileError extends Error {
  /** The id of the version, revision or endpoint that causes the error. */
  readonly resourceId: string;
  /** The name of the field in the API. */
  readonly field: string;

  constructor(message: string, resourceId: string, field: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CompileError';
    this.resourceId = resourceId;
    this.field = field;
  }
}
