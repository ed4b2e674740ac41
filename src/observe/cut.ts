/** Bounds a text: a longer one ends in `...`. */
export function cut(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 3)}...` : text;
}
