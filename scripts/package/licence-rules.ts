/**
 * Which licences may be in what users install: permissive ones only, so that shipping Headgate obliges to nothing but
 * keeping notices. The exceptions are libraries of the system, in the image. Pure: judges one SPDX expression (Annex D
 * of the SPDX specification, without `WITH`).
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
  'Unicode-3.0',
  'Unlicense',
  'Zlib',
  // Of SQLite: it is in the public domain.
  'blessing',
];

export interface SystemLibrary {
  /** SPDX expression. */
  readonly licence: string;
  /** What its copyright file must say, with single spaces. */
  readonly says: RegExp;
  /** Why it may be shipped beside programs under other licences. */
  readonly reason: string;
}

const GCC_RUNTIME: SystemLibrary = {
  licence: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  says: /GCC Runtime Library Exception/,
  reason: 'the exception permits to ship it with programs that GCC has compiled, under any licence',
};

/** The exceptions, by the name of the Debian package. They are shipped unchanged, with the texts of their licences. */
export const SYSTEM_LIBRARIES: Readonly<Record<string, SystemLibrary>> = {
  libatomic1: GCC_RUNTIME,
  libc6: {
    licence: 'LGPL-2.1-or-later',
    says: /GNU Lesser General Public License[^]*version 2\.1[^]*any later version/,
    reason: 'it is linked dynamically, so users can replace it',
  },
  'libgcc-s1': GCC_RUNTIME,
  'libstdc++6': GCC_RUNTIME,
};

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
