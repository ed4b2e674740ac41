/**
 * Fields of a message as the policy edits them (`FieldEditor` of policy/stage.ts): those that pass, in the pass that
 * writes them, and those that are added. A route without an editor pays one comparison.
 */
import type { FieldEditor, FieldSubject } from '../../policy/stage.ts';
import type { Route } from '../interfaces/route.ts';
import type { ExchangeView } from '../interfaces/exchange-view.ts';
import { pathParameters } from '../upstream-path.ts';

/** What is read of a parsed head. */
interface Fields {
  name(index: number): string;
  value(index: number): string;
  line(index: number): string;
}

/** The line of a field that passes; '' where the editor drops it. */
export function passedLine(fields: Fields, index: number, editor: FieldEditor | undefined): string {
  const name = editor?.nameOf(fields.name(index));
  if (name === undefined) return fields.line(index);
  return name === '' ? '' : `${name}: ${fields.value(index)}\r\n`;
}

/** The lines that an editor adds; '' without one. */
export function addedLines(editor: FieldEditor | undefined, exchange: ExchangeView, route: Route): string {
  return editor === undefined ? '' : editor.lines(subjectOf(exchange, route));
}

function subjectOf(exchange: ExchangeView, route: Route): FieldSubject {
  const { method, path, clientIp, announcedBytes, nowMs, requestId, evaluation } = exchange;
  return {
    method,
    path,
    clientIp,
    announcedBytes,
    nowMs,
    requestId,
    evaluation,
    header: (lowerName) => exchange.header(lowerName),
    combined: (lowerName) => exchange.combined(lowerName),
    pathParameter: (name) => pathParameters(route, path, exchange.suffixStart)[name],
  };
}
