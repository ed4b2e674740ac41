/** The value that a stage decided by, a line for each of its fields. */

/** Several parts with a level each are shown by their values; the policy of the route shows where they come from. */
export function valueLines(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [textOf(value)];
  return Object.entries(value).map(([name, part]) => `${name}: ${textOf(ofLevel(part))}`);
}

function ofLevel(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('level' in part)) return part;
  const { level, source_id: _, ...rest } = part as Readonly<Record<string, unknown>>;
  const value = 'value' in rest ? rest['value'] : rest;
  return value === undefined ? level : value;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(textOf).join(', ');
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value)
      .filter(([, part]) => part !== null)
      .map(([name, part]) => `${name} ${textOf(part)}`)
      .join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
