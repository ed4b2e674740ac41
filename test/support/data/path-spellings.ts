/**
 * Every way that we know of writing a path differently, and every way that backends are known to read one: what an
 * attacker tries against a protected path, and what a request must not be taken for when it gets through.
 */

/** Writes `/<area>/data` below a prefix (app and version) in another way. */
export type Spelling = (prefix: string, area: string) => string;

const eachOf = (text: string, write: (code: number) => string): string =>
  text.replaceAll(/[^]/g, (character) => write(character.charCodeAt(0)));
const hex = (text: string): string => eachOf(text, (code) => `%${code.toString(16).padStart(2, '0')}`);
const hexUpper = (text: string): string => hex(text).toUpperCase();
const twice = (text: string): string => hex(text).replaceAll('%', '%25');
const thrice = (text: string): string => twice(text).replaceAll('%', '%25');
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
/** Full-width forms, as UTF-8 octets. */
const wide = (text: string): string =>
  encodeURIComponent(eachOf(text, (code) => String.fromCharCode(code + 0xfee0)));

export const SPELLINGS: Readonly<Record<string, Spelling>> = {
  'as it is': (p, a) => `${p}/${a}/data`,
  // Encodings.
  'a letter encoded': (p, a) => `${p}/${hex(a.charAt(0))}${a.slice(1)}/data`,
  'all letters encoded': (p, a) => `${p}/${hex(a)}/${hex('data')}`,
  'all letters encoded, upper-case digits': (p, a) => `${p}/${hexUpper(a)}/${hexUpper('data')}`,
  'the prefix encoded': (p, a) => `/${p.slice(1).split('/').map(hex).join('/')}/${a}/data`,
  'encoded twice': (p, a) => `${p}/${twice(a)}/data`,
  'encoded three times': (p, a) => `${p}/${thrice(a)}/data`,
  'a slash encoded': (p, a) => `${p}/${a}%2fdata`,
  'a slash encoded twice': (p, a) => `${p}/${a}%252fdata`,
  'a slash encoded three times': (p, a) => `${p}/${a}%25252fdata`,
  'a slash encoded at the end': (p, a) => `${p}/${a}/data%2f`,
  'a slash encoded in front': (p, a) => `${p}/%2f${a}/data`,
  'the slash before the area encoded': (p, a) => `${p}%2f${a}/data`,
  'a broken encoding': (p, a) => `${p}/${a}/data%`,
  'half an encoding': (p, a) => `${p}/${a}/data%4`,
  'no hexadecimal digits': (p, a) => `${p}/%zz${a}/data`,
  'IIS-like encoding': (p, a) => `${p}/%u00${a.charCodeAt(0).toString(16)}${a.slice(1)}/data`,
  'overlong letter': (p, a) => `${p}/%c1%${(a.charCodeAt(0) | 0x80).toString(16)}${a.slice(1)}/data`,
  'overlong slash': (p, a) => `${p}/${a}%c0%afdata`,
  'overlong slash of three': (p, a) => `${p}/${a}%e0%80%afdata`,
  'overlong slash of four': (p, a) => `${p}/${a}%f0%80%80%afdata`,
  'full-width letters': (p, a) => `${p}/${wide(a)}/data`,
  'full-width slash': (p, a) => `${p}/${a}%ef%bc%8fdata`,
  // Dots.
  'a dot segment': (p, a) => `${p}/./${a}/data`,
  'a dot at the end': (p, a) => `${p}/${a}/data/.`,
  'dots over a public area': (p, a) => `${p}/public/../${a}/data`,
  'dots at the end': (p, a) => `${p}/${a}/data/x/..`,
  'dots encoded': (p, a) => `${p}/public/%2e%2e/${a}/data`,
  'dots half encoded': (p, a) => `${p}/public/.%2E/${a}/data`,
  'dots encoded twice': (p, a) => `${p}/public/%252e%252e/${a}/data`,
  'dots encoded three times': (p, a) => `${p}/public/%25252e%25252e/${a}/data`,
  'dots and encoded slash': (p, a) => `${p}/public/..%2f${a}/data`,
  'dots between encoded slashes': (p, a) => `${p}/public%2f..%2f${a}%2fdata`,
  'dots and slashes encoded twice': (p, a) => `${p}/public%252f..%252f${a}%252fdata`,
  'dots and a parameter': (p, a) => `${p}/public/..;/${a}/data`,
  'dots and a named parameter': (p, a) => `${p}/public/..;x=1/${a}/data`,
  'dots and an encoded parameter': (p, a) => `${p}/public/..%3bx/${a}/data`,
  'dots and a parameter encoded twice': (p, a) => `${p}/public/..%253bx/${a}/data`,
  'full-width dots': (p, a) => `${p}/public/%ef%bc%8e%ef%bc%8e/${a}/data`,
  'three dots': (p, a) => `${p}/.../${a}/data`,
  'a trailing dot': (p, a) => `${p}/${a}/data.`,
  'a trailing dot inside': (p, a) => `${p}/${a}./data`,
  'two trailing dots': (p, a) => `${p}/${a}/data..`,
  // Slashes.
  'a double slash': (p, a) => `${p}//${a}/data`,
  'a double slash inside': (p, a) => `${p}/${a}//data`,
  'a double slash in front': (p, a) => `/${p}/${a}/data`,
  'a host in front': (p, a) => `//gateway.test${p}/${a}/data`,
  'a trailing slash': (p, a) => `${p}/${a}/data/`,
  'two trailing slashes': (p, a) => `${p}/${a}/data//`,
  'a backslash': (p, a) => `${p}/${a}\\data`,
  'an encoded backslash': (p, a) => `${p}/${a}%5cdata`,
  'a backslash encoded twice': (p, a) => `${p}/${a}%255cdata`,
  'dots and backslashes encoded twice': (p, a) => `${p}/public%255c..%255c${a}/data`,
  // Case.
  'upper case': (p, a) => `${p}/${a.toUpperCase()}/DATA`,
  'a capital': (p, a) => `${p}/${a}/${capital('data')}`,
  'an encoded capital': (p, a) => `${p}/${hex(capital(a).charAt(0))}${a.slice(1)}/data`,
  'upper case in the prefix': (p, a) => `${p.toUpperCase()}/${a}/data`,
  // Parameters.
  'a parameter': (p, a) => `${p}/${a}/data;x`,
  'an empty parameter': (p, a) => `${p}/${a}/data;`,
  'a parameter inside': (p, a) => `${p}/${a};x=1;y=2/data`,
  'a parameter alone': (p, a) => `${p}/;x/${a}/data`,
  'an encoded parameter': (p, a) => `${p}/${a}/data%3bx`,
  'a parameter encoded twice': (p, a) => `${p}/${a}/data%253bx`,
  'a parameter behind the version': (p, a) => `${p};x/${a}/data`,
  'a session id': (p, a) => `${p}/${a}/data;jsessionid=00`,
  // White space and controls.
  'an encoded space': (p, a) => `${p}/${a}/data%20`,
  'an encoded space inside': (p, a) => `${p}/${a}%20/data`,
  'an encoded space in front': (p, a) => `${p}/%20${a}/data`,
  'a plus': (p, a) => `${p}/${a}/data+`,
  'an encoded tab': (p, a) => `${p}/${a}/data%09`,
  'a tab encoded twice': (p, a) => `${p}/${a}/data%2509`,
  'a raw tab': (p, a) => `${p}/${a}/data\t`,
  NUL: (p, a) => `${p}/${a}/data%00`,
  'NUL and more': (p, a) => `${p}/${a}/data%00.html`,
  'NUL encoded twice': (p, a) => `${p}/${a}/data%2500.html`,
  'an encoded line feed': (p, a) => `${p}/${a}/data%0a`,
  'a no-break space': (p, a) => `${p}/${a}/data%c2%a0`,
  'an ideographic space': (p, a) => `${p}/${a}/data%e3%80%80`,
  // Query and fragment.
  'a query': (p, a) => `${p}/${a}/data?x=/public/data`,
  'an encoded question mark': (p, a) => `${p}/${a}/data%3fx`,
  'a question mark encoded twice': (p, a) => `${p}/${a}/data%253fx`,
  'a question mark in the area': (p, a) => `${p}/${a}%3f/../data`,
  'a fragment': (p, a) => `${p}/${a}/data#x`,
  'an encoded fragment': (p, a) => `${p}/${a}/data%23x`,
  'a protected path in the query': (p, a) => `${p}/public/data?/../${a}/data`,
  // Other forms of the target.
  'absolute form': (p, a) => `http://gateway.test${p}/${a}/data`,
  'absolute form, upper case': (p, a) => `HTTP://GATEWAY.TEST${p}/${a}/data`,
  'absolute form with another host': (p, a) => `http://other.test:81${p}/${a}/data`,
  'absolute form with a double slash': (p, a) => `http://gateway.test/${p}/${a}/data`,
  'absolute form with user information': (p, a) => `http://a@gateway.test${p}/${a}/data`,
  'absolute form without a host': (p, a) => `http://${p}/${a}/data`,
  'another scheme': (p, a) => `file://gateway.test${p}/${a}/data`,
  'no slash in front': (p, a) => `${p.slice(1)}/${a}/data`,
  'a wildcard': (p, a) => `${p}/${a}/*`,
  'a template': (p) => `${p}/{area}/data`,
};

/**
 * The paths that a target may name to a backend, by any combination of what backends do: decode up to three times,
 * cut parameters, white space and dots, collapse slashes, resolve dots, ignore case. Written without the gateway's own
 * reading (src/http/paths/lenient-path.ts), which it must not share a mistake with.
 */
export function readingsOf(target: string): ReadonlySet<string> {
  const readings = new Set<string>();
  let text = target.split(/[?#]/)[0] ?? '';
  for (let decodings = 0; decodings <= 3; decodings++) {
    for (const folded of [text, text.normalize('NFKC')]) {
      for (const cut of [folded, folded.split(/[?#\0]/)[0] ?? '']) {
        for (const trim of [(each: string) => each, (each: string) => each.replace(/^\s+|[\s.]+$/g, '')]) {
          readings.add(normalised(cut, trim));
        }
      }
    }
    text = decodedOnce(text);
  }
  return readings;
}

function normalised(path: string, trim: (segment: string) => string): string {
  const out: string[] = [];
  for (const raw of path.replaceAll('\\', '/').split('/')) {
    const segment = raw.split(';')[0] ?? '';
    if (segment.trim() === '..') out.pop();
    else {
      const kept = trim(segment);
      if (kept !== '' && kept !== '.') out.push(kept.toLowerCase());
    }
  }
  return `/${out.join('/')}`;
}

function decodedOnce(text: string): string {
  const octets: number[] = [];
  const bytes = Buffer.from(text, 'utf8');
  for (let index = 0; index < bytes.length; index++) {
    const digits = bytes.toString('latin1', index + 1, index + 3);
    if (bytes[index] === 0x25 && /^[0-9a-f]{2}$/i.test(digits)) {
      octets.push(parseInt(digits, 16));
      index += 2;
    } else octets.push(bytes[index] ?? 0);
  }
  return Buffer.from(octets).toString('utf8');
}
