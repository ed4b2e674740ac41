/** Says what a reader made of a message, in the words of an `expect` block, so that texts can be compared. */
import { BodyFraming } from '../../src/http/bodies/framing.ts';
import { HeaderKind } from '../../src/http/heads/header-kind.ts';
import { RequestReader, type ResponseReader } from './message-reader.ts';
import { unescapeBytes, type ConformanceCase } from './read-cases.ts';

type Reader = RequestReader | ResponseReader;

const framingNames = ['none', 'content-length', 'chunked', 'until-close'];
const kindNames = Object.keys(HeaderKind);

/** The expected lines with every escape resolved. */
export function expectedLines(one: ConformanceCase): string[] {
  const { outcome, lines } = one.expect;
  return [outcome, ...lines.map(([name, text]) => `${name} ${latin1(text)}`)];
}

/** The same lines with what `reader` found in the place of what is expected. */
export function observedLines(one: ConformanceCase, reader: Reader): string[] {
  const outcome = reader.result();
  const { lines } = one.expect;
  if (outcome.kind === 'incomplete') return ['incomplete'];
  if (outcome.kind === 'accept') {
    return ['accept', ...lines.map(([name, text]) => `${name} ${observe(name, latin1(text), reader)}`)];
  }
  const { error, at } = outcome;
  const found: Readonly<Record<string, string>> = {
    status: `${error.status}`,
    code: error.code,
    at,
    detail: error.detail,
  };
  const observed = lines.map(([name, text]) => {
    const value = found[name] ?? 'not observed for a refusal';
    return `${name} ${name === 'detail' && value.includes(text) ? text : value}`;
  });
  if (at !== one.expect.at) observed.push(`at ${at}`);
  return ['refuse', ...observed];
}

function observe(name: string, text: string, reader: Reader): string {
  const special =
    reader instanceof RequestReader ? observeRequest(name, reader) : observeResponse(name, reader);
  return special ?? observeFields(name, text, reader) ?? observeMessage(name, reader);
}

function observeRequest(name: string, { head, path }: RequestReader): string | undefined {
  switch (name) {
    case 'method':
      return head.method;
    case 'target':
      return head.target;
    case 'path':
      return path;
    case 'host':
      return head.host;
    case 'expect-continue':
      return yesOrNo(head.expectContinue);
    default:
      return undefined;
  }
}

function observeResponse(name: string, { head, interim }: ResponseReader): string | undefined {
  switch (name) {
    case 'status':
      return String(head.status);
    case 'reason':
      return head.reason;
    case 'interim':
      return interim.join(' ');
    case 'length':
      return String(head.contentLength);
    default:
      return undefined;
  }
}

function observeFields(name: string, text: string, { head }: Reader): string | undefined {
  const field = text.split(/[: ]/)[0] as string;
  switch (name) {
    case 'fields':
      return String(head.count);
    case 'header':
      return joined(field, head.get(field.toLowerCase()));
    case 'combined':
      return joined(field, head.combined(field.toLowerCase()));
    case 'kind': {
      const index = Array.from({ length: head.count }, (_, i) => head.name(i)).indexOf(field);
      return index < 0 ? 'no such field' : `${field} ${kindNames[head.kind(index)]}`;
    }
    case 'lines':
      return head.ordinaryLines();
    default:
      return undefined;
  }
}

function observeMessage(name: string, reader: Reader): string {
  const { head } = reader;
  const outcome = reader.result();
  if (outcome.kind !== 'accept') return 'not accepted';
  switch (name) {
    case 'version':
      return `1.${head.httpMinor}`;
    case 'framing':
      return (
        framingNames[head.framing] +
        (head.framing === BodyFraming.contentLength ? ` ${head.contentLength}` : '')
      );
    case 'body':
      return outcome.body;
    case 'trailers':
      return outcome.trailers ?? '';
    case 'rest':
      return outcome.rest;
    case 'persistent':
      return yesOrNo(head.persistent);
    case 'upgrade':
      return head.upgrade ?? '';
    case 'nominated':
      return (head.connectionTokens ?? []).join(', ');
    default:
      return 'no such line is known';
  }
}

function joined(field: string, value: string | undefined): string {
  if (value === undefined) return `${field} is absent`;
  return value === '' ? `${field}:` : `${field}: ${value}`;
}

function yesOrNo(value: boolean): string {
  return value ? 'yes' : 'no';
}

function latin1(text: string): string {
  return unescapeBytes(text).toString('latin1');
}
