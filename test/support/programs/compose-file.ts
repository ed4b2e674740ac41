/** deploy/compose.yaml, as Docker Compose reads it. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

export const DEPLOY = resolve(import.meta.dirname, '../../../deploy');

export interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: unknown;
  readonly command?: readonly string[];
  readonly stop_grace_period?: string;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export function readComposeFile(): ComposeFile {
  // The YAML reader that comes with the generator of the OpenAPI document.
  const yaml = createRequire(createRequire(import.meta.url).resolve('@fastify/swagger'))('yaml') as {
    parse(text: string, options: { readonly merge: boolean }): unknown;
  };
  return yaml.parse(readFileSync(join(DEPLOY, 'compose.yaml'), 'utf8'), { merge: true }) as ComposeFile;
}
