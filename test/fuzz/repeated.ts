/**
 * Fuzzers of heads that come one after the other on a connection: what a parser keeps of the head before (`isRepeated`)
 * must never show. Each head is also parsed by a parser that has seen nothing yet.
 */
import { canonicalPath, comparablePath } from '../../src/http/paths/canonical-path.ts';
import type { FieldSection } from '../../src/http/heads/field-section.ts';
import { HeaderKind } from '../../src/http/heads/header-kind.ts';
import { isPlainPath } from '../../src/http/paths/lenient-path.ts';
import { RequestHead } from '../../src/http/heads/request-head.ts';
import { ResponseHead } from '../../src/http/heads/response-head.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { someRequest, someResponse } from './messages.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const HEADS = 12;
/** Most generated requests are refused; these are tried for one that is not. */
const TRIES = 6;
const kinds = Object.values(HeaderKind);

/** How many heads had the fields of the one before, since the process began. */
export const repeated = { requests: 0, responses: 0 };

/** Two heads cut into their first line and the rest, of which new ones are put together. */
function someParts(random: Random, some: (random: Random) => string): { firsts: string[]; rests: string[] } {
  const firsts: string[] = [];
  const rests: string[] = [];
  for (let count = 0; count < 3; count++) {
    const text = some(random);
    const end = text.indexOf('\r\n\r\n');
    const head = end < 0 ? text : text.slice(0, end + 2);
    const lineEnd = head.indexOf('\r\n') + 2;
    firsts.push(head.slice(0, lineEnd));
    rests.push(head.slice(lineEnd));
  }
  return { firsts, rests };
}

function oftenSoundRequest(random: Random): string {
  const limits = { maxTargetBytes: 1000, maxHeaders: 100 };
  let text = someRequest(random);
  for (let tries = 1; tries < TRIES; tries++) {
    const end = text.indexOf('\r\n\r\n');
    if (end >= 0 && new RequestHead().parse(text.slice(0, end + 2), limits) === undefined) break;
    text = someRequest(random);
  }
  return text;
}

function someHead(random: Random, { firsts, rests }: { firsts: string[]; rests: string[] }): string {
  const rest = random.oneIn(10) ? mutate(random.pick(rests), random) : random.pick(rests);
  return random.pick(firsts) + rest;
}

/** Everything that a section of fields says. */
function fieldsOf(head: FieldSection): unknown {
  const fields = Array.from({ length: head.count }, (_, index) => [
    head.name(index),
    head.value(index),
    head.kind(index),
    head.line(index),
    head.isNominated(index),
    head.hasTabAfter(index),
  ]);
  const byKind = kinds
    .filter((kind) => kind !== HeaderKind.ordinary)
    .map((kind) => [head.first(kind), head.repeated(kind), head.valueOf(kind) ?? null]);
  const byName = ['host', 'x-a', 'accept', 'connection'].map((name) => [
    head.get(name) ?? null,
    head.combined(name) ?? null,
  ]);
  return { fields, byKind, byName, ordinary: head.ordinaryLines() };
}

function requestOf(head: RequestHead): unknown {
  const { method, target, plainPathLength, httpMinor, host, framing, contentLength } = head;
  const { persistent, expectContinue, upgrade, connectionTokens } = head;
  const line = [method, target, plainPathLength, httpMinor, host, framing, contentLength];
  return [line, persistent, expectContinue, upgrade ?? null, connectionTokens ?? null, fieldsOf(head)];
}

function responseOf(head: ResponseHead): unknown {
  const { status, reason, httpMinor, framing, contentLength, persistent, upgrade, connectionTokens } = head;
  const line = [status, reason, httpMinor, framing, contentLength, persistent];
  return [line, upgrade ?? null, connectionTokens ?? null, fieldsOf(head)];
}

/** What is said of a path that is found to be plain. */
function checkPath({ target, plainPathLength }: RequestHead): void {
  if (plainPathLength < 0) return;
  const path = target.slice(0, plainPathLength);
  check(target.length === path.length || target[plainPathLength] === '?', `Not the path of ${target}`);
  check(canonicalPath(path) === path && comparablePath(path) === path, `Not canonical: ${path}`);
  check(isPlainPath(path) && !path.includes('%') && !path.includes('?'), `Not plain: ${path}`);
}

export const repeatedRequestsFuzzer: Fuzzer = {
  name: 'repeated-requests',
  step: (random) => {
    const parts = someParts(random, oftenSoundRequest);
    const known = new RequestHead();
    for (let count = 0; count < HEADS; count++) {
      const text = someHead(random, parts);
      const limits = { maxTargetBytes: random.pick([8, 1000]), maxHeaders: random.pick([1, 3, 100]) };
      const shown = JSON.stringify(text);
      const fresh = new RequestHead();
      const error = known.parse(text, limits);
      const expected = fresh.parse(text, limits);
      checkEqual(error ?? null, expected ?? null, `Another verdict on ${shown}`);
      if (error === undefined) {
        if (known.isRepeated) repeated.requests += 1;
        checkEqual(requestOf(known), requestOf(fresh), `Another reading of ${shown}`);
        checkPath(known);
      }
      if (random.oneIn(2)) known.rest();
      else if (random.oneIn(8)) known.release();
    }
  },
};

export const repeatedResponsesFuzzer: Fuzzer = {
  name: 'repeated-responses',
  step: (random) => {
    const parts = someParts(random, someResponse);
    const known = new ResponseHead();
    for (let count = 0; count < HEADS; count++) {
      const text = someHead(random, parts);
      const method = random.pick(['GET', 'HEAD', 'POST']);
      const limits = { maxHeaders: random.pick([1, 3, 100]) };
      const shown = `${method} ${JSON.stringify(text)}`;
      const fresh = new ResponseHead();
      // With more behind the head, as when a body has come with it.
      const bytes = Buffer.from(`${text}\r\nbody`, 'latin1');
      const error = known.parseBytes(bytes, 0, text.length, method, limits);
      const expected = fresh.parse(text, method, limits);
      checkEqual(error ?? null, expected ?? null, `Another verdict on ${shown}`);
      if (error === undefined) {
        if (known.isRepeated) repeated.responses += 1;
        checkEqual(responseOf(known), responseOf(fresh), `Another reading of ${shown}`);
      }
      if (random.oneIn(2)) known.rest();
      else if (random.oneIn(8)) known.release();
    }
  },
};
