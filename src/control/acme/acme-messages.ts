/**
 * Parses the answers of an ACME directory (RFC 8555 sections 7.1 and 6.7) strictly: required members are checked,
 * others are ignored. Pure functions.
 */
import { isObject } from '../../lib/is-object.ts';
import { retryWaitMs } from '../../http/fields/retry-after.ts';
import { DirectoryUnavailable, shown, type HttpAnswer } from './directory-http.ts';

const URL_LENGTH_MAX = 2_048;
const LIST_LENGTH_MAX = 1_000;
/** RFC 8555 section 8.1: base64url, at least 128 bits. */
const TOKEN = /^[A-Za-z0-9_-]{22,512}$/;

export interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** RFC 9773; undefined when the directory does not suggest renewals. */
  readonly renewalInfo: string | undefined;
  readonly needsExternalAccount: boolean;
}

type OrderStatus = 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';

export interface Order {
  readonly status: OrderStatus;
  readonly names: readonly string[];
  readonly authorizations: readonly string[];
  readonly finalize: string;
  readonly certificate: string | undefined;
  readonly problem: AcmeProblem | undefined;
}

export interface Challenge {
  readonly type: string;
  readonly url: string;
  readonly status: string;
  readonly token: string;
  readonly problem: AcmeProblem | undefined;
}

export interface Authorization {
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  readonly name: string;
  readonly challenges: readonly Challenge[];
}

/** An error that the directory reports (RFC 7807); `type` is without its common prefix. */
export class AcmeProblem extends Error {
  readonly type: string;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  constructor(type: string, detail: string, status: number, retryAfterMs?: number) {
    super(detail === '' ? type : `${type}: ${detail}`);
    this.name = 'AcmeProblem';
    this.type = type;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

type Json = Readonly<Record<string, unknown>>;

export function readDirectory(text: string): Directory {
  const json = objectOf(text, 'directory');
  const meta = isObject(json['meta']) ? json['meta'] : {};
  return {
    newNonce: urlIn(json, 'newNonce'),
    newAccount: urlIn(json, 'newAccount'),
    newOrder: urlIn(json, 'newOrder'),
    renewalInfo: optionalUrl(json, 'renewalInfo'),
    needsExternalAccount: meta['externalAccountRequired'] === true,
  };
}

const ORDER_STATUSES: readonly string[] = ['pending', 'ready', 'processing', 'valid', 'invalid'];

export function readOrder(text: string): Order {
  const json = objectOf(text, 'order');
  const status = json['status'];
  if (typeof status !== 'string' || !ORDER_STATUSES.includes(status)) throw junk('order without a status');
  const names = listIn(json, 'identifiers').map((each) => (isObject(each) ? each['value'] : undefined));
  return {
    status: status as OrderStatus,
    names: names.map((name) => (typeof name === 'string' ? name.toLowerCase() : '')),
    authorizations: listIn(json, 'authorizations').map((each) => checkedUrl(each, 'authorizations')),
    finalize: urlIn(json, 'finalize'),
    certificate: optionalUrl(json, 'certificate'),
    problem: optionalProblem(json),
  };
}

const AUTHORIZATION_STATUSES: readonly string[] = [
  'pending',
  'valid',
  'invalid',
  'deactivated',
  'expired',
  'revoked',
];

export function readAuthorization(text: string): Authorization {
  const json = objectOf(text, 'authorization');
  const { status, identifier } = json;
  if (typeof status !== 'string' || !AUTHORIZATION_STATUSES.includes(status))
    throw junk('authorization without a status');
  const name = isObject(identifier) ? identifier['value'] : undefined;
  if (typeof name !== 'string') throw junk('authorization without a name');
  return {
    status: status as Authorization['status'],
    name: name.toLowerCase(),
    challenges: listIn(json, 'challenges').flatMap(readChallenge),
  };
}

/** Empty for a kind without a token. */
function readChallenge(json: unknown): Challenge[] {
  if (!isObject(json)) return [];
  const { type, status, token } = json;
  if (typeof type !== 'string' || typeof status !== 'string') return [];
  if (typeof token !== 'string' || !TOKEN.test(token)) return [];
  return [{ type, status, token, url: urlIn(json, 'url'), problem: optionalProblem(json) }];
}

/** URLs of orders (RFC 8555 section 7.1.2.1). */
export function readOrderList(text: string): readonly string[] {
  return listIn(objectOf(text, 'list of orders'), 'orders').map((each) => checkedUrl(each, 'orders'));
}

/** The URL of the list of an account's orders; undefined when the directory does not list orders. */
export function readOrdersUrl(text: string): string | undefined {
  return optionalUrl(objectOf(text, 'account'), 'orders');
}

/** The window of a renewal (RFC 9773 section 4.2), Unix milliseconds. */
export function readRenewalWindow(text: string): { readonly startMs: number; readonly endMs: number } {
  const { suggestedWindow: window } = objectOf(text, 'renewal information');
  const [start, end] = isObject(window) ? [window['start'], window['end']] : [];
  const startMs = typeof start === 'string' ? Date.parse(start) : NaN;
  const endMs = typeof end === 'string' ? Date.parse(end) : NaN;
  if (!(startMs <= endMs)) throw junk('renewal information without a window');
  return { startMs, endMs };
}

/**
 * The problem in an answer with an error status. The answer may come from a proxy, and then is not an ACME
 * problem.
 */
export function problemOf(answer: HttpAnswer, nowMs: number): AcmeProblem | DirectoryUnavailable {
  const waitMs = retryWaitMs(answer.header('retry-after'), nowMs);
  const isProblem = answer.header('content-type').startsWith('application/problem+json');
  try {
    if (isProblem) {
      const problem = readProblem(objectOf(answer.text, 'problem'), answer.status, waitMs);
      if (answer.status < 500 || problem.type === 'rateLimited') return problem;
      return new DirectoryUnavailable(problem.message, waitMs);
    }
  } catch {
    // Reported below.
  }
  return new DirectoryUnavailable(`it answers with status ${answer.status}: ${shown(answer.text)}`, waitMs);
}

const PROBLEM_PREFIX = 'urn:ietf:params:acme:error:';

function readProblem(json: Json, status: number, retryAfterMs?: number): AcmeProblem {
  const { type, detail, subproblems } = json;
  const name = typeof type === 'string' ? type.replace(PROBLEM_PREFIX, '') : 'error';
  const details = [detail, ...firstDetails(subproblems)].filter((each) => typeof each === 'string');
  return new AcmeProblem(shown(name), shown(details.join('; ')), status, retryAfterMs);
}

function firstDetails(subproblems: unknown): unknown[] {
  if (!Array.isArray(subproblems)) return [];
  return subproblems.slice(0, 3).map((each: unknown) => (isObject(each) ? each['detail'] : undefined));
}

function optionalProblem(json: Json): AcmeProblem | undefined {
  const { error } = json;
  return isObject(error) ? readProblem(error, 0) : undefined;
}

function objectOf(text: string, what: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw junk(`${what} that is not JSON`);
  }
  if (!isObject(value)) throw junk(`${what} that is not an object`);
  return value;
}

function listIn(json: Json, field: string): readonly unknown[] {
  const list = json[field];
  if (!Array.isArray(list) || list.length > LIST_LENGTH_MAX) throw junk(`answer without "${field}"`);
  return list;
}

const urlIn = (json: Json, field: string): string => checkedUrl(json[field], field);
const optionalUrl = (json: Json, field: string): string | undefined =>
  json[field] === undefined || json[field] === null ? undefined : checkedUrl(json[field], field);

function checkedUrl(value: unknown, field: string): string {
  if (typeof value !== 'string' || value.length > URL_LENGTH_MAX || URL.parse(value)?.protocol !== 'https:')
    throw junk(`answer whose "${field}" is not an https URL`);
  return value;
}

function junk(what: string): DirectoryUnavailable {
  return new DirectoryUnavailable(`it sent an ${what}`.replace(/an (?=[^aeiou])/, 'a '));
}
