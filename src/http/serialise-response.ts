/**
 * Text of the responses that the gateway makes itself, and the check that whatever goes into them from outside of
 * the code is harmless. Responses of upstreams are not written here: they keep their own fields.
 */
import { isFieldValue, isToken } from './characters.ts';
import { statusText } from './status-text.ts';

/** `HTTP/1.1 STATUS REASON` CRLF; the gateway always answers as HTTP/1.1 (RFC 9110 section 6.2). */
export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${statusText(status)}\r\n`;
}

/** `Name: value` CRLF, or '' when name or value could break the message: a field is lost, never a line gained. */
export function fieldLine(name: string, value: string): string {
  return isToken(name) && isFieldValue(value) ? `${name}: ${value}\r\n` : '';
}

export type GatewayResponse = {
  readonly status: number;
  /** Value of the Date field. */
  readonly date: string;
  /** Further lines, each with its CRLF, as `fieldLine` makes them. */
  readonly lines: string;
  readonly contentType: string;
  /** Length of the body in bytes; 0 for none. */
  readonly contentBytes: number;
  readonly close: boolean;
};

/** Head of a response with a body of known length, up to and with the empty line. No body length for 204 and 304. */
export function gatewayResponseHead(response: GatewayResponse): string {
  let head = `${statusLine(response.status)}Date: ${response.date}\r\n`;
  if (response.status !== 204 && response.status !== 304) {
    if (response.contentBytes > 0) head += `Content-Type: ${response.contentType}\r\n`;
    head += `Content-Length: ${response.contentBytes}\r\n`;
  }
  head += response.lines;
  return response.close ? `${head}Connection: close\r\n\r\n` : `${head}\r\n`;
}
