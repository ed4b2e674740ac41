import { describe, expect, it } from 'vitest';
import { grpcTypeOf, grpcWebForm, trailerMessage, webTypeOf } from './grpc-web.ts';

describe('a request', () => {
  it.each([
    ['application/grpc-web', undefined, [false, false, '']],
    ['application/grpc-web+proto', undefined, [false, false, '+proto']],
    ['Application/Grpc-Web+Proto; charset=utf-8', '*/*', [false, false, '+Proto']],
    ['application/grpc-web-text', undefined, [true, true, '']],
    ['application/grpc-web-text+proto', 'application/grpc-web-text', [true, true, '+proto']],
    ['application/grpc-web+proto', 'application/grpc-web-text+proto, */*', [false, true, '+proto']],
    ['application/grpc-web+proto', 'text/html,application/grpc-web-text', [false, true, '+proto']],
    ['application/grpc-web+proto', 'application/grpc-web-textual', [false, false, '+proto']],
    ['application/grpc', undefined, undefined],
    ['application/grpc-webby', undefined, undefined],
    ['application/grpc-web+', undefined, undefined],
    ['text/plain; application/grpc-web', undefined, undefined],
    [undefined, 'application/grpc-web', undefined],
  ])('with the type %j and Accept %j', (type, accept, expected) => {
    const form = grpcWebForm(type, accept);
    expect(form && [form.isText, form.wantsText, form.suffix]).toEqual(expected);
  });
});

it.each([
  ['application/grpc', '+proto'],
  ['application/grpc+proto', '+proto'],
  ['application/grpc+json', '+json'],
  [undefined, '+proto'],
])('a response with the type %j', (type, suffix) => {
  const form = { isText: false, wantsText: false, suffix: '+proto' };
  expect(grpcTypeOf(form)).toBe('application/grpc+proto');
  expect(webTypeOf(form, type)).toBe(`application/grpc-web${suffix}`);
  expect(webTypeOf({ ...form, wantsText: true }, type)).toBe(`application/grpc-web-text${suffix}`);
});

it.each(['text/html', 'application/grpc-web', 'application/json', ''])('%j is no gRPC', (type) => {
  expect(webTypeOf({ isText: false, wantsText: false, suffix: '' }, type)).toBeUndefined();
});

it('trailers are one message, with names in lower case', () => {
  const message = trailerMessage('Grpc-Status: 0\r\nX-Bytes-Bin: AAH/\r\nx: A: B\r\n');
  const text = 'grpc-status: 0\r\nx-bytes-bin: AAH/\r\nx: A: B\r\n';
  expect(message).toEqual(Buffer.concat([Buffer.from([0x80, 0, 0, 0, text.length]), Buffer.from(text)]));
});
