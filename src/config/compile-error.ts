/**
 * Thrown when records of the configuration do not fit together. The management API turns it into a refusal of
 * the write (nothing has been stored then); at the start of a process it stops the start.
 */
export class CompileError extends Error {
  /** The record that is in the way: an id of a version, revision or endpoint. */
  readonly resourceId: string;
  /** The API's name of its field. */
  readonly field: string;

  constructor(message: string, resourceId: string, field: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CompileError';
    this.resourceId = resourceId;
    this.field = field;
  }
}
