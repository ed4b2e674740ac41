/** How large a document of another program may be: known also where none is read. */
export const FOREIGN_BYTES_MAX = 64 * 1024 * 1024;
export const FOREIGN_DEPTH_MAX = 200;
