/** Reads a description that was dropped or chosen, within what the API takes. */
import { importWords } from '../../text/import.ts';
import { formatBytes } from '../../ui/display/time.tsx';

/** Below the body of 4 MiB that the API takes, with room for the other fields and for escaped characters. */
export const DESCRIPTION_BYTES_MAX = 3 * 1024 * 1024;

export type Read = { readonly text: string } | { readonly problem: string };

export async function readDescription(file: Pick<File, 'name' | 'size' | 'text'>): Promise<Read> {
  if (file.size > DESCRIPTION_BYTES_MAX) {
    return { problem: importWords.tooLarge(formatBytes(DESCRIPTION_BYTES_MAX)) };
  }
  try {
    return { text: await file.text() };
  } catch (error) {
    return { problem: importWords.notRead(file.name, (error as Error).message) };
  }
}

/** A slug from the title of a description, as a suggestion; empty when there is none. */
export function suggestedSlug(text: string): string {
  return titleOf(text)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63)
    .replace(/-+$/, '');
}

/** In JSON the title of `info`; in YAML, which would need a parser, the first title. */
function titleOf(text: string): string {
  if (text.trimStart().startsWith('{')) {
    try {
      const { info } = JSON.parse(text) as { readonly info?: { readonly title?: unknown } | null };
      return typeof info?.title === 'string' ? info.title : '';
    } catch {
      // Half of it is pasted, or it is YAML that only looks like JSON.
    }
  }
  return /(?:^|[{,])[^\S\n]*"?title"?[^\S\n]*:[^\S\n]*["']?([^"'\n,}]{1,200})/m.exec(text)?.[1] ?? '';
}
