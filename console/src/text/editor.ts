/** Words of the YAML editor and of what it finds wrong. */
const NUMBER = new Intl.NumberFormat('en');

export const editorWords = {
  loading: 'The editor is loading …',
  keys: 'Press Escape, then Tab, to leave the editor.',
  types: {
    integer: 'a whole number',
    number: 'a number',
    string: 'a text',
    boolean: 'true or false',
    array: 'a list',
    object: 'fields with values',
    null: 'null',
  } as Readonly<Record<string, string>>,
  mustBe: (types: readonly string[]): string => `Must be ${[...new Set(types)].join(' or ')}`,
  mustBeOneOf: (literals: readonly string[]): string => `Must be one of ${literals.join(', ')}`,
  atLeast: (bound: number): string => `Must be at least ${NUMBER.format(bound)}`,
  atMost: (bound: number): string => `Must be at most ${NUMBER.format(bound)}`,
  charsMin: (bound: number): string =>
    bound === 1 ? 'Must not be empty' : `Must have at least ${bound} characters`,
  charsMax: (bound: number): string => `Must have at most ${NUMBER.format(bound)} characters`,
  pattern: (pattern: string): string => `Must match ${pattern}`,
  itemsMin: (bound: number): string => `Must have at least ${NUMBER.format(bound)} of these`,
  itemsMax: (bound: number): string => `Must have at most ${NUMBER.format(bound)} of these`,
  itemsUnique: 'Must not have an item twice',
  missing: (name: string): string => `The field ${name} is missing`,
  unknownField: 'This gateway does not know the field',
  mustBeFields: 'Must be fields with values, such as "rate_limit:" and its fields below it',
} as const;
