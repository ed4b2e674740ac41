/** The slow, obvious twin of `ChunkedDecoder`: takes a whole body as text, one regular expression per line. */

const chunkLine =
  /([0-9A-Fa-f]{1,16})((?:[\t ]*;[\t ]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[\t ]*=[\t ]*(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*)\r\n/y;
const trailerLine = /([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t\x20-\x7e\x80-\xff]*\r\n/y;

export type ReferenceBody = {
  readonly data: string;
  readonly used: number;
  readonly trailerNames: readonly string[];
};

/** The decoded body and how much of `text` it took; undefined when it is malformed, over a limit, or not complete. */
export function referenceChunked(text: string): ReferenceBody | undefined {
  let data = '';
  let at = 0;
  let extensionBytes = 0;
  for (;;) {
    const line = matchAt(chunkLine, text, at);
    if (line === undefined) return undefined;
    const size = BigInt(`0x${line[1]}`);
    extensionBytes += (line[2] ?? '').length;
    if (line[0].length - 2 > 256 || extensionBytes > 16 * 1024 || size >= 2n ** 53n) return undefined;
    at += line[0].length;
    if (size === 0n) break;
    const end = at + Number(size);
    if (text.slice(end, end + 2) !== '\r\n') return undefined;
    data += text.slice(at, end);
    at = end + 2;
  }
  const trailerStart = at;
  const trailerNames: string[] = [];
  for (let line = matchAt(trailerLine, text, at); line !== undefined; line = matchAt(trailerLine, text, at)) {
    trailerNames.push(line[1] ?? '');
    at += line[0].length;
  }
  if (text.slice(at, at + 2) !== '\r\n' || trailerNames.length > 64 || at - trailerStart > 8 * 1024)
    return undefined;
  return { data, used: at + 2, trailerNames };
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}
