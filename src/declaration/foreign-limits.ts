/**
 * Limits for documents of other programs, in a module of their own for code that only checks sizes and does not
 * load the parser.
 */
export const FOREIGN_BYTES_MAX = 64 * 1024 * 1024;
export const FOREIGN_DEPTH_MAX = 200;
