import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldedName } from '../../../lib/folded-name.ts';
import { FIELD_VALUE_CHARS_MAX } from '../../caller.ts';
import { newEvaluation } from '../../evaluate.ts';
import { validatePolicy } from '../../policy-rules.ts';
import type { Policy } from '../../registry.ts';
import type { Caller, FieldSubject } from '../../stage.ts';
import { testFacts, testGateway } from '../../test-fixtures.ts';
import type { HeadersPolicy } from './schema.ts';

interface Given {
  readonly caller?: Partial<Caller>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: Readonly<Record<string, string>>;
  readonly requestId?: string;
  readonly clientIp?: string;
}

function subject({
  caller,
  headers,
  path = {},
  requestId = 'r1',
  clientIp = '192.0.2.1',
}: Given): FieldSubject {
  const evaluation = newEvaluation();
  evaluation.caller = { ...evaluation.caller, ...caller };
  const pathParameter = (name: string): string | undefined => path[name];
  const facts = testFacts(headers, { clientIp });
  const combinedPassing = (name: string): string | undefined => facts.combined(name);
  return { ...facts, requestId, evaluation, combinedPassing, pathParameter };
}

const gateway = testGateway();

function compiled(headers: HeadersPolicy, more: Policy = {}) {
  return gateway.compile({ ...more, headers });
}

/** The lines that the values of `set` make. */
function lines(set: Record<string, string>, given: Given = {}): string | undefined {
  return compiled({ request: { set } }).requestFields?.lines(subject(given));
}

function errors(headers: HeadersPolicy, more: Policy = {}, endpointParameters?: readonly string[]) {
  const context = { globals: undefined, ...(endpointParameters && { endpointParameters }) };
  return validatePolicy({ ...more, headers }, context, '/p').map(
    ({ pointer, detail }) => `${pointer} ${detail}`,
  );
}

const CALLER: Partial<Caller> = {
  kind: 'api_key',
  id: 'k1',
  name: 'naïve\r\nX: y',
  claims: { sub: 'ann', n: 7, list: ['a', 'b,c'], 'https://x/role': 'r', none: null },
};

describe('values', () => {
  it.each([
    ['constant', 'X: constant\r\n'],
    ['${caller.id}', 'X: k1\r\n'],
    ['${caller.key_name}', 'X: na%C3%AFve%0D%0AX: y\r\n'],
    ['<${claim.sub}|${claim.n}|${claim.list}>', 'X: <ann|7|["a","b,c"]>\r\n'],
    ['${claim.https://x/role}', 'X: r\r\n'],
    ['${path.id}/${header.X-In}', 'X: a%20b/v\u00e9\tw\r\n'],
    ['${request.id} ${client.ip}', 'X: r1 192.0.2.1\r\n'],
    ['$${claim.sub} costs 5$ {x}', 'X: ${claim.sub} costs 5$ {x}\r\n'],
    ['a$${b}${caller.id}', 'X: a${b}k1\r\n'],
  ])('%j is %j', (template, line) => {
    const given = { caller: CALLER, headers: { 'x-in': 'v\u00e9\tw' }, path: { id: 'a%20b' } };
    expect(lines({ X: template }, given)).toBe(line);
  });

  it.each([
    '${claim.none}',
    '${claim.constructor}',
    '${path.id}',
    '${header.x}',
    '${caller.key_name}',
    '${caller.id}',
  ])('a field whose whole value is the absent %s is left out; beside text it is empty', (source) => {
    expect(lines({ X: source }, { caller: { claims: {} } })).toBe('');
    expect(lines({ X: `<${source}>` }, { caller: { claims: {} } })).toBe('X: <>\r\n');
  });

  it('a value that is too long is left out and not cut, whatever its source', () => {
    const long = 'a'.repeat(FIELD_VALUE_CHARS_MAX);
    expect(lines({ X: '${header.x}' }, { headers: { x: long } })).toBe(`X: ${long}\r\n`);
    for (const given of [{ headers: { x: `${long}a` } }, { caller: { claims: { x: `${long}a` } } }])
      expect(lines({ X: '${header.x}${claim.x}', Y: 'y' }, given)).toBe('Y: y\r\n');
  });

  it('no input makes a line end, a second field or a blank end', () => {
    const text = fc.string({ unit: 'binary', maxLength: 40 });
    const hostile = fc.array(
      fc.oneof(text, fc.constantFrom('\r\n', '\n', '\r', '\0', 'X-Evil: 1', ' ', '\u010a\u560d')),
    );
    const any = hostile.map((parts) => parts.join(''));
    const pieces = [
      '${caller.id}',
      '${caller.key_name}',
      '${claim.c}',
      '${path.p}',
      '${header.h}',
      '${request.id}',
    ];
    const template = fc
      .array(fc.constantFrom(...pieces, '${client.ip}', 'x', '$${'), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        template,
        fc.array(any, { minLength: 7, maxLength: 7 }),
        fc.jsonValue(),
        (value, texts, json) => {
          const [id = '', name = '', claim = '', p = '', h = '', requestId = '', clientIp = ''] = texts;
          for (const c of [claim, json, [claim], { [claim]: claim }]) {
            const caller = { id, name, claims: { c } };
            const given = { caller, headers: { h }, path: { p }, requestId, clientIp };
            const line = lines({ 'X-Made': value }, given);
            expect(line).toMatch(
              /^(?:X-Made: (?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?\r\n)?$/,
            );
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('names', () => {
  const edits: HeadersPolicy = {
    request: {
      set: { 'X-User': 'u' },
      add: { 'X-More': 'm' },
      remove: ['X-Debug'],
      rename: { 'X-Old': 'X-New' },
    },
  };
  const editor = compiled(edits).requestFields;

  it.each(['X-User', 'x-user', 'X_User', 'X.User', 'x~uSER', 'X-Debug', 'x_debug'])('%s is dropped', (name) =>
    expect(editor?.nameOf(name)).toBe(''),
  );
  it.each(['X-Users', 'XUser', 'X-More', 'X-New'])('%s stays', (name) =>
    expect(editor?.nameOf(name)).toBeUndefined(),
  );
  it('an old name becomes the new one, in every spelling', () => {
    expect(editor?.nameOf('x_old')).toBe('X-New');
    expect(editor?.lines(subject({}))).toBe('X-User: u\r\nX-More: m\r\n');
  });

  it('no name that reads as one of set gets past', () => {
    const sign = fc.constantFrom(..."!#$%&'*+-.^_`|~".split(''));
    fc.assert(
      fc.property(sign, fc.boolean(), (dash, isUpper) => {
        const name = `X${dash}User`;
        expect(foldedName(name)).toBe('x-user');
        expect(editor?.nameOf(isUpper ? name.toUpperCase() : name)).toBe('');
      }),
    );
  });

  it('a route without the part, or with an empty one, has no editor', () => {
    expect(gateway.compile({})).toMatchObject({ requestFields: undefined, responseFields: undefined });
    for (const headers of [{}, { request: {} }, { response: { set: {}, remove: [] } }])
      expect(compiled(headers)).toMatchObject({ requestFields: undefined, responseFields: undefined });
  });
});

describe('a policy is refused', () => {
  const MANAGED = [
    'Connection',
    'content-length',
    'Transfer-Encoding',
    'TE',
    'Trailer',
    'Upgrade',
    'Host',
    'Keep-Alive',
    'Proxy-Authorization',
    'X-Headgate-Key-Id',
    'x_headgate_scopes',
    'X-Request-Id',
    'Via',
    'Traceparent',
    'Date',
    'Content-Encoding',
    'Sec-WebSocket-Key',
    'Content_Length',
    'X.Request.Id',
    'Max-Forwards',
  ];
  const IN_REQUESTS = [
    'X-Forwarded-For',
    'Forwarded',
    'X-Real-IP',
    'True-Client-IP',
    'Client-IP',
    'X_Remote_Addr',
    'CF-Connecting-IP',
    'cf_connecting_ip',
    'Fastly-Client-IP',
    'X-Azure-ClientIP',
    'X_Forwarded_Prefix',
    'X-Original-URL',
  ];
  it.each(MANAGED)('that touches %s', (name) => {
    for (const direction of ['request', 'response'])
      for (const edit of [
        { set: { [name]: 'v' } },
        { add: { [name]: 'v' } },
        { remove: [name] },
        { rename: { [name]: 'X-A' } },
        { rename: { 'X-A': name } },
      ])
        expect(errors({ [direction]: edit }), JSON.stringify(edit)).toHaveLength(1);
  });
  it.each(IN_REQUESTS)('that touches %s of requests', (name) => {
    for (const edit of [{ set: { [name]: 'v' } }, { remove: [name] }, { rename: { 'X-A': name } }])
      expect(errors({ request: edit })).toHaveLength(1);
  });
  it.each([
    'Authorization',
    'Cookie',
    'Origin',
    'Sec-Fetch-Site',
    'RateLimit',
    'X-RateLimit-Limit',
    'Access-Control-Allow-Origin',
  ])('that writes %s of requests, not that removes it', (name) => {
    expect(errors({ request: { set: { [name]: 'v' } } })).toHaveLength(1);
    expect(errors({ request: { rename: { 'X-A': name } } })).toHaveLength(1);
    expect(errors({ request: { remove: [name] } })).toEqual([]);
  });
  it.each(['Access-Control-Allow-Origin', 'RateLimit-Policy', 'RateLimit-Limit', 'Sunset', 'Deprecation'])(
    'that writes %s of responses',
    (name) => {
      expect(errors({ response: { add: { [name]: 'v' } } })).toHaveLength(1);
      expect(errors({ response: { remove: [name] } })).toEqual([]);
    },
  );

  it.each([
    ['${', 'has a "${" without its "}"'],
    ['a ${claim.sub', 'has a "${" without its "}"'],
    ['${nothing}', 'has the unknown source "${nothing}"'],
    ['${claim.}', 'has the unknown source'],
    ['${env.SECRET}', 'has the unknown source'],
    ['${header.a b}', 'names no header'],
    ['${header.Authorization}', 'it carries credentials'],
    ['${header.cookie}', 'it carries credentials'],
    ['${header.X-Headgate-Key-Id}', 'the backend does not get'],
    ['${header.X-Forwarded-For}', 'the backend does not get'],
    ['${path.}', 'has the unknown source'],
    ['${path.7}', 'names no path parameter'],
    ['a\r\nX: b', 'must contain only visible ASCII'],
    ['é', 'must contain only visible ASCII'],
    [' a', 'must not begin or end'],
    ['${caller.id}\t', 'must not begin or end'],
  ])('that has the value %j', (value, detail) => {
    const [error = '', ...others] = errors({ response: { add: { 'X/~A': 'v', 'X-A': value } } }).slice(1);
    expect(error).toMatch(/^\/p\/headers\/response\/add\/X-A /);
    expect(error).toContain(detail);
    expect(others).toEqual([]);
  });

  it('that names no field, or one name twice', () => {
    expect(errors({ request: { set: { 'a/b~': 'v' } } })).toEqual([
      expect.stringMatching(/^\/p\/headers\/request\/set\/a~1b~0 /),
    ]);
    expect(errors({ request: { set: { 'X-A': '1', x_a: '2' } } })).toHaveLength(1);
    expect(errors({ request: { set: { 'X-A': '1' }, remove: ['x-a'] } })).toEqual([
      expect.stringContaining('/request/remove/0'),
    ]);
    expect(errors({ request: { set: { 'X-B': '1' }, rename: { 'X-A': 'X-B' } } })).toHaveLength(1);
    expect(errors({ request: { remove: ['X-B'], rename: { 'X-A': 'X-B', 'X-C': 'X-A' } } })).toEqual([]);
  });

  it('that reads a parameter which the endpoint cannot have', () => {
    const headers = { request: { set: { 'X-Id': '${path.id}' } } };
    expect(errors(headers)).toEqual([]);
    expect(errors(headers, {}, ['id'])).toEqual([]);
    expect(errors(headers, {}, ['key'])).toEqual([
      expect.stringMatching(/^\/p\/headers\/request\/set\/X-Id has "\$\{path\.id\}"/),
    ]);
  });
});

describe('what auth reads and writes', () => {
  const jwt = { secret: 's'.repeat(32), claims_to_headers: { email: 'X-Email' } };
  const auth: Policy = { auth: { auth_type: 'jwt', in: 'X-Token', jwt } };
  const headers: HeadersPolicy = {
    request: {
      set: { x_email: 'forged', 'X-Copy': '${header.x-token}', 'X-Own': 'o' },
      rename: { 'X-A': 'X-Email', 'X-B': 'X-Token' },
    },
  };

  it('is refused on the same level', () => {
    expect(errors(headers, auth).map((error) => error.split(' ')[0])).toEqual([
      '/p/headers/request/set/x_email',
      '/p/headers/request/set/X-Copy',
      '/p/headers/request/rename/X-A',
      '/p/headers/request/rename/X-B',
    ]);
  });

  it('stays unchanged where another level sets it', () => {
    const editor = compiled(headers, auth).requestFields;
    expect(editor?.lines(subject({ headers: { 'x-token': 't' } }))).toBe('X-Own: o\r\n');
    expect(['X-A', 'X-B', 'X-Email'].map((name) => editor?.nameOf(name))).toEqual(['', '', undefined]);
  });
});
