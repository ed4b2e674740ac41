/** Text with code in backquotes, as in descriptions of the API. */
import type { ReactNode } from 'react';

export function CodeText({ text }: { readonly text: string }): ReactNode {
  return text.split('`').map((part, index) => {
    // Every second part stood between backquotes; parts of a text that does not change have no better name.
    // oxlint-disable-next-line react/no-array-index-key
    return index % 2 === 1 ? <code key={index}>{part}</code> : part;
  });
}
