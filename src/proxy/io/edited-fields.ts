/**
 * The fields of a message after the edits of the policy (`FieldEditor` of policy/stage.ts): passing fields are edited
 * while they are written, then new ones are added. A route without an editor pays one comparison.
 */
import { mayBeTrailer } from '../../http/bodies/trailers.ts';
import type { FieldEditor, FieldSubject } from '../../policy/stage.ts';
import type { Route } from '../interfaces/route.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import { pathParameters } from '../upstream-path.ts';

/** The part of a parsed head that is read here. */
interface Fields {
  name(index: number): string;
  value(index: number): string;
  line(index: number): string;
}

/** The line of a passing field; '' if the editor drops it. */
export function passedLine(fields: Fields, index: number, editor: FieldEditor | undefined): string {
  const name = editor?.nameOf(fields.name(index));
  if (name === undefined) return fields.line(index);
  return name === '' ? '' : `${name}: ${fields.value(index)}\r\n`;
}

/**
 * Trailers that pass, as lines with their CRLF. A field that the editor renames is left out where no trailer may have
 * the new name.
 */
export function passedTrailers(lines: string, editor: FieldEditor | undefined): string {
  if (editor === undefined || lines === '') return lines;
  let passed = '';
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    const name = editor.nameOf(line.slice(0, colon)) ?? line.slice(0, colon);
    if (name !== '' && mayBeTrailer(name)) passed += `${name}${line.slice(colon)}\r\n`;
  }
  return passed;
}

/** The lines that an editor adds; '' without one. */
export function addedLines(editor: FieldEditor | undefined, exchange: ExchangeView, route: Route): string {
  return editor === undefined ? '' : editor.lines(subjectOf(exchange, route));
}

function subjectOf(exchange: ExchangeView, route: Route): FieldSubject {
  const { method, path, clientIp, announcedBytes, clientTls, nowMs, ended, requestId, evaluation } = exchange;
  return {
    method,
    path,
    clientIp,
    announcedBytes,
    clientTls,
    nowMs,
    ended,
    requestId,
    evaluation,
    header: (lowerName) => exchange.header(lowerName),
    combined: (lowerName) => exchange.combined(lowerName),
    combinedPassing: (lowerName) => exchange.connection.head.combinedPassing(lowerName),
    pathParameter: (name) => {
      const parameters = pathParameters(route, path, exchange.suffixStart);
      return Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    },
  };
}
