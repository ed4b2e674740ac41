/** Fuzzers of the head parsers: against their twin, against themselves, and over all ways to cut their input. */
import { BodyFraming } from '../../src/http/bodies/framing.ts';
import { findHeadEnd } from '../../src/http/heads/head-end.ts';
import { HeaderKind } from '../../src/http/heads/header-kind.ts';
import { RequestHead } from '../../src/http/heads/request-head.ts';
import { ResponseHead } from '../../src/http/heads/response-head.ts';
import { limits, RequestReader, ResponseReader } from '../conformance/message-reader.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { someCuts, someRequest, someResponse } from './messages.ts';
import { referenceRequest } from './reference/request.ts';

const head = new RequestHead();
const again = new RequestHead();
const response = new ResponseHead();
const responseAgain = new ResponseHead();

/** The head in `text` up to its last header line's CRLF; all of it when it has no end. */
function headOf(text: string): string {
  const end = text.indexOf('\r\n\r\n');
  return end < 0 ? text : text.slice(0, end + 2);
}

/** What two parses of a request must have in common; fields without Host, which an absolute-form target replaces. */
function summary(one: RequestHead): unknown {
  const fields = Array.from({ length: one.count }, (_, i) => [one.name(i), one.value(i), one.kind(i)]);
  return {
    line: [one.method, one.target, one.httpMinor, one.host],
    fields: fields.filter(([, , kind]) => kind !== HeaderKind.host),
    framing: [one.framing, one.contentLength, one.persistent, one.expectContinue],
    connection: [one.upgrade, one.connectionTokens],
  };
}

function serialise(one: RequestHead): string {
  let text = `${one.method} ${one.target} HTTP/1.${one.httpMinor}\r\n`;
  if (one.host !== '') text += `Host: ${one.host}\r\n`;
  for (let i = 0; i < one.count; i++) if (one.kind(i) !== HeaderKind.host) text += one.line(i);
  return text;
}

export const requestHeadFuzzer: Fuzzer = {
  name: 'request-head',
  step: (random) => {
    const text = headOf(someRequest(random));
    const error = head.parse(text, limits);
    const reference = referenceRequest(text, limits);
    check(
      (error === undefined) === (reference !== undefined),
      `Twin disagrees on ${JSON.stringify(text)}: ${error?.code}`,
    );
    if (error !== undefined || reference === undefined) return;
    const framing =
      head.framing === BodyFraming.contentLength
        ? head.contentLength
        : head.framing === BodyFraming.chunked
          ? 'chunked'
          : 'none';
    const fields = Array.from({ length: head.count }, (_, i) => [head.name(i), head.value(i)]);
    const { method, target, httpMinor, host, persistent } = head;
    checkEqual(
      { method, target, host, httpMinor, fields, framing, persistent },
      reference,
      `Twin differs on ${JSON.stringify(text)}`,
    );
    const sent = serialise(head);
    check(again.parse(sent, limits) === undefined, `Refused what was re-serialised: ${JSON.stringify(sent)}`);
    checkEqual(summary(again), summary(head), `Re-serialised differs: ${JSON.stringify(text)}`);
    checkEqual(serialise(again), sent, 'Re-serialising twice differs');
    checkBytes(text);
  },
};

/** `parseBytes` in the middle of other bytes must give what `parse` gives. */
function checkBytes(text: string): void {
  const bytes = Buffer.from(`XY\r\n${text}\r\nGET`, 'latin1');
  check(
    again.parseBytes(bytes, 4, 4 + text.length, limits) === undefined,
    'parseBytes refuses what parse accepts',
  );
  checkEqual(summary(again), summary(head), `parseBytes differs from parse: ${JSON.stringify(text)}`);
}

export const responseHeadFuzzer: Fuzzer = {
  name: 'response-head',
  step: (random) => {
    const text = headOf(someResponse(random));
    const method = random.pick(['GET', 'HEAD', 'POST']);
    const error = response.parse(text, method, limits);
    if (error !== undefined)
      return checkEqual([error.status, error.code], [502, 'bad_upstream_response'], 'Another error');
    let sent = `HTTP/1.${response.httpMinor} ${response.status} ${response.reason}\r\n`;
    for (let i = 0; i < response.count; i++) sent += response.line(i);
    check(
      responseAgain.parse(sent, method, limits) === undefined,
      `Refused what was re-serialised: ${JSON.stringify(sent)}`,
    );
    const facts = (one: ResponseHead) => [
      one.status,
      one.reason,
      one.framing,
      one.contentLength,
      one.persistent,
      one.count,
    ];
    checkEqual(facts(responseAgain), facts(response), `Re-serialised differs: ${JSON.stringify(text)}`);
    const bodiless =
      method === 'HEAD' || response.status < 200 || response.status === 204 || response.status === 304;
    check(!bodiless || response.framing === BodyFraming.none, 'A response without body is framed');
    check(response.framing !== BodyFraming.untilClose || !response.persistent, 'Until close, yet persistent');
  },
};

/** Wherever the input is cut, an accepted message stays the same message and a refused one stays refused. */
export const splitFuzzer: Fuzzer = {
  name: 'splits',
  step: (random) => {
    const isRequest = random.oneIn(2);
    const bytes = Buffer.from(isRequest ? someRequest(random) : someResponse(random), 'latin1');
    const make = () => (isRequest ? new RequestReader() : new ResponseReader('GET'));
    const whole = make();
    const cut = make();
    whole.push(bytes);
    for (const piece of someCuts(bytes, random)) cut.push(piece);
    const [a, b] = [whole.result(), cut.result()];
    check(
      a.kind === b.kind,
      `Cut changes the outcome of ${JSON.stringify(bytes.toString('latin1'))}: ${a.kind} ${b.kind}`,
    );
    if (a.kind === 'accept') checkEqual(b, a, 'Cut changes the message');
  },
};

export const findHeadEndFuzzer: Fuzzer = {
  name: 'find-head-end',
  step: (random) => {
    const text = random.repeat(random.below(40), () =>
      random.pick(['\r', '\n', '\r\n', 'a', 'bc', '\r\n\r\n']),
    );
    const bytes = Buffer.from(text, 'latin1');
    const from = random.below(bytes.length + 1);
    const to = from + random.below(bytes.length - from + 1);
    const expected = text.slice(from, to).indexOf('\r\n\r\n');
    const found = findHeadEnd(bytes, from, to);
    check(
      found === (expected < 0 ? -1 : from + expected + 4),
      `${JSON.stringify(text)} ${from} ${to}: ${found}`,
    );
  },
};
