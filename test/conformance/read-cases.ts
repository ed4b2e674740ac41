/**
 * Reads the conformance corpus: Markdown files in which a case is a `##` heading, prose, one ```` ```http ```` block
 * with the bytes and one ```` ```expect ```` block with what must come of them. Line breaks of the file are not part
 * of the bytes; every byte that is not visible is written as an escape:
 *
 *   \r \n \t \0 \\ \xNN    one byte            \(text*N)    `text` N times
 *
 * The `http` block of a response may name the method of its request (```` ```http HEAD ````). See README.md for the
 * lines of an `expect` block. A malformed corpus file throws: it is the tests' own. So does a case without a section of
 * an RFC, named in its own prose or, as the only one, in the first lines of its file.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export type Expectation = {
  /** `incomplete`: nothing is wrong, but the message has not ended; with responses also a body cut short. */
  readonly outcome: 'accept' | 'refuse' | 'incomplete';
  /** Where a refusal comes from. Only `head` refusals do not depend on the gateway's configuration. */
  readonly at: 'head' | 'path' | 'body';
  /** For a refused request, the status of the answer; for an accepted response, its own status. */
  readonly status: number | undefined;
  /** Code of a refusal. */
  readonly code: string | undefined;
  /** Whether the gateway must close the connection after its answer. */
  readonly close: boolean;
  /** All lines of the block, as [name, text after the first space]. */
  readonly lines: ReadonlyArray<readonly [name: string, text: string]>;
};

export type ConformanceCase = {
  readonly name: string;
  /** Path below test/conformance. */
  readonly file: string;
  /** Line of the heading. */
  readonly line: number;
  /** `file:line`, with which the name of a test starts. */
  readonly location: string;
  /** The sections of RFCs that its prose names, or else the one of its file. */
  readonly sections: string;
  readonly rawBytes: Buffer;
  /** Method of the request that a response answers; `GET` unless the block names another. */
  readonly requestMethod: string;
  readonly expect: Expectation;
};

const root = import.meta.dirname;
const SECTIONS = /RFC (\d+) sections? (\d[\d.]*(?:(?:,| and| to) \d[\d.]*)*)/g;

/** Every case of `test/conformance/<folder>`, in the order of files and lines. */
export function readCases(folder: 'request' | 'response'): ConformanceCase[] {
  const files = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
  return files.sort().flatMap((name) => parseFile(`${folder}/${name}`));
}

function parseFile(file: string): ConformanceCase[] {
  const cases: ConformanceCase[] = [];
  let heading: { name: string; line: number } | undefined;
  let prose = '';
  let filesOwn: string | undefined;
  let http: { text: string; method: string } | undefined;
  let fence: { info: string; lines: string[] } | undefined;
  for (const [index, line] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
    if (fence === undefined) {
      if (line.startsWith('## ')) {
        filesOwn ??= prose;
        heading = { name: line.slice(3), line: index + 1 };
        prose = '';
      } else if (line.startsWith('```')) fence = { info: line.slice(3), lines: [] };
      else prose += `${line} `;
      continue;
    }
    if (line !== '```') {
      fence.lines.push(line);
      continue;
    }
    const { info, lines } = fence;
    fence = undefined;
    if (info.startsWith('http')) {
      http = { text: lines.join(''), method: info.slice(5) || 'GET' };
    } else if (info === 'expect') {
      if (heading === undefined || http === undefined)
        throw new Error(`${file}:${index + 1}: no bytes to expect from`);
      cases.push({
        ...heading,
        file,
        location: `${file}:${heading.line}`,
        sections: sectionsOf(prose, filesOwn ?? '', `${file}:${heading.line}`),
        rawBytes: unescapeBytes(http.text),
        requestMethod: http.method,
        expect: parseExpectation(lines, `${file}:${index + 1}`),
      });
      heading = undefined;
      http = undefined;
    }
  }
  if (heading !== undefined || fence !== undefined) throw new Error(`${file}: the last case is not complete`);
  return cases;
}

function sectionsOf(prose: string, filesOwn: string, where: string): string {
  const own = namedSections(prose);
  if (own.length > 0) return own.join(', ');
  const [only, ...others] = namedSections(filesOwn);
  if (only === undefined || others.length > 0)
    throw new Error(`${where}: it names no section of an RFC, and its file not exactly one`);
  return only;
}

function namedSections(prose: string): string[] {
  return [...prose.matchAll(SECTIONS)].flatMap(([, rfc, sections = '']) =>
    (sections.match(/\d+(?:\.\d+)*/g) ?? []).map((section) => `RFC ${rfc} section ${section}`),
  );
}

function parseExpectation(lines: readonly string[], where: string): Expectation {
  const parsed = lines.map((line): readonly [string, string] => {
    const space = line.indexOf(' ');
    return space < 0 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)];
  });
  const [first, ...rest] = parsed;
  const outcome = first?.[0];
  if (outcome !== 'accept' && outcome !== 'refuse' && outcome !== 'incomplete') {
    throw new Error(`${where}: expected accept, refuse or incomplete`);
  }
  const text = (name: string): string | undefined => rest.find(([key]) => key === name)?.[1];
  const at = text('at') ?? 'head';
  if (at !== 'head' && at !== 'path' && at !== 'body') throw new Error(`${where}: at what? ${at}`);
  const status = text('status');
  return {
    outcome,
    at,
    status: status === undefined ? undefined : Number(status),
    code: text('code'),
    close: outcome === 'refuse' ? at !== 'path' : text('persistent') === 'no',
    lines: rest,
  };
}

/** The bytes that an escaped text of the corpus stands for. */
export function unescapeBytes(text: string): Buffer {
  const repeated = text.replace(/\\\(((?:[^*\\]|\\.)*)\*(\d+)\)/g, (_, part: string, count: string) =>
    part.repeat(Number(count)),
  );
  const latin1 = repeated.replace(/\\(x[0-9a-f]{2}|[rnt0\\])/g, (_, escape: string) => {
    if (escape.startsWith('x')) return String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return { r: '\r', n: '\n', t: '\t', '0': '\0', '\\': '\\' }[escape] ?? '';
  });
  return Buffer.from(latin1, 'latin1');
}
