/** A text of another gateway as a value of `headers` that means this text: `${` would begin a template there. */
export function literalValue(text: string): string {
  return text.replaceAll('${', () => '$${');
}
