/** The query of a call as text, with its question mark. Fields without a value are left out; without any it is ''. */
export function queryText(fields: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? '' : `?${query.toString()}`;
}
