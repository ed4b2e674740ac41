/** The certificates and keys of `tls/`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const pem = (name: string): string => readFileSync(join(import.meta.dirname, '../tls', name), 'utf8');
