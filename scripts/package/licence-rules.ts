/**
 * Which licences may be in what users install: permissive ones only, so that shipping Headgate obliges to nothing but
 * keeping notices. Pure: judges one SPDX expression (Annex D of the SPDX specification, without `WITH`).
 */

export const ALLOWED_LICENCES: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
];

/**
 * Whether one may ship under the expression: of `OR` one side suffices, of `AND` both are needed. False for anything
 * that is not such an expression.
 */
export function isAllowedLicence(expression: string): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const term = (): boolean | undefined => {
    const token = tokens[at++];
    if (token !== '(')
      return token === undefined || /^(?:AND|OR|WITH|\))$/.test(token) ? undefined : known(token);
    const inner = alternatives();
    return tokens[at++] === ')' ? inner : undefined;
  };
  const all = (): boolean | undefined => {
    let result = term();
    while (result !== undefined && tokens[at] === 'AND') {
      at += 1;
      const next = term();
      result = next === undefined ? undefined : result && next;
    }
    return result;
  };
  const alternatives = (): boolean | undefined => {
    let result = all();
    while (result !== undefined && tokens[at] === 'OR') {
      at += 1;
      const next = all();
      result = next === undefined ? undefined : result || next;
    }
    return result;
  };
  const result = alternatives();
  return result === true && at === tokens.length;
}

function known(identifier: string): boolean {
  return ALLOWED_LICENCES.includes(identifier);
}
