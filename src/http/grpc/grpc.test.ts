import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RequestHead } from '../heads/request-head.ts';
import { grpcErrorLines, grpcTimeoutMs, isGrpc } from './grpc.ts';

function requestOf(lines: string, isHttp2 = true) {
  const head = new RequestHead();
  const error = head.parse(`POST /x HTTP/1.1\r\nHost: a\r\n${lines}`, {
    maxHeaders: 10,
    maxTargetBytes: 100,
  });
  expect(error).toBeUndefined();
  return { connection: { isHttp2, head } };
}

describe('a request of gRPC', () => {
  it.each([
    ['application/grpc', true],
    ['application/grpc+proto', true],
    ['Application/gRPC; x=y', true],
    ['application/grpc-web', false],
    ['application/grpc-web+proto', false],
    ['application/grpcx', false],
    ['application/json', false],
  ])('has the type %s: %s', (type, expected) => {
    expect(isGrpc(requestOf(`Content-Type: ${type}\r\n`))).toBe(expected);
  });

  it('comes over HTTP/2', () => {
    expect(isGrpc(requestOf('Content-Type: application/grpc\r\n', false))).toBe(false);
    expect(isGrpc(requestOf(''))).toBe(false);
  });
});

describe('grpc-timeout', () => {
  it.each([
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3_000],
    ['250m', 250],
    ['250000u', 250],
    ['1000000n', 1],
    ['99999999S', 99_999_999_000],
    ['0m', 0],
    ['123456789S', Infinity],
    ['-1S', Infinity],
    ['1.5S', Infinity],
    ['1', Infinity],
    ['1s', Infinity],
    ['', Infinity],
  ])('%s is %s ms', (value, expected) => {
    const request = requestOf(`Content-Type: application/grpc\r\ngrpc-timeout: ${value}\r\n`);
    expect(grpcTimeoutMs(request)).toBeCloseTo(expected);
  });

  it('of another request does not count', () => {
    expect(grpcTimeoutMs(requestOf('grpc-timeout: 1S\r\n'))).toBe(Infinity);
  });
});

describe('an error', () => {
  it('has one line of visible ASCII for each field, from which the message can be read', () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), fc.string({ unit: 'binary' }), (status, message) => {
        const lines = grpcErrorLines('application/grpc', status, message).split('\r\n');
        expect(lines).toHaveLength(4);
        expect(lines[1]).toMatch(/^grpc-status: [1-9][0-9]?$/);
        const encoded = lines[2]?.slice('grpc-message: '.length) ?? '';
        expect(encoded).toMatch(/^[\x20-\x7e]*$/);
        expect(decodeURIComponent(encoded)).toBe(message.toWellFormed());
      }),
    );
  });
});
