/**
 * The same as linear-time.test.ts for what balancers, backends and collectors send, and for documents: certificates,
 * revocation lists, and descriptions of other programs.
 */
import { expect, it } from 'vitest';
import { readForeign } from '../../../src/declaration/foreign-document.ts';
import { Base64Decoder, base64Piece } from '../../../src/http/grpc/base64-stream.ts';
import { grpcWebForm, trailerMessage } from '../../../src/http/grpc/grpc-web.ts';
import { readProxyHeader } from '../../../src/http/heads/proxy-header.ts';
import { readDescription } from '../../../src/management/import/openapi-document.ts';
import { importTree } from '../../../src/management/import/openapi-tree.ts';
import { retryWaitMs } from '../../../src/http/fields/retry-after.ts';
import { partialSuccess } from '../../../src/telemetry/otlp/collector-answer.ts';
import { readCertificate } from '../../../src/x509/certificate.ts';
import { DerReader } from '../../../src/x509/der.ts';
import { distinguishedName } from '../../../src/x509/distinguished-name.ts';
import { readRevocationLists } from '../../../src/x509/revocation-list.ts';
import { readPemCertificates } from '../../../src/x509/trust-bundle.ts';
import { growth, type Prepare } from '../../support/measure/linear-time.ts';

/** A value of DER; lengths up to 65,535. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const contents = Buffer.concat(parts);
  const { length } = contents;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), contents]);
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), contents]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), contents]);
}

const many = (bytes: number, piece: Buffer): Buffer[] =>
  Array.from({ length: Math.floor(bytes / piece.length) }, () => piece);
const text = (bytes: number, piece: string): string => piece.repeat(Math.ceil(bytes / piece.length));

const TIME = der(0x17, Buffer.from('260101000000Z'));
const ALGORITHM = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));
const ATTRIBUTE = der(0x31, der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from('a,'))));

/** A revocation list with so many entries, whose signature nothing has made. */
function revocationList(bytes: number): Buffer {
  const entries = Array.from({ length: Math.floor(bytes / 32) }, (_, index) => {
    const serial = Buffer.alloc(13, 1);
    serial.writeUInt32BE(index, 4);
    return der(0x30, der(0x02, serial), TIME);
  });
  const body = der(0x30, ALGORITHM, der(0x30, ATTRIBUTE), TIME, TIME, der(0x30, ...entries));
  return der(0x30, body, ALGORITHM, der(0x03, Buffer.from([0])));
}

/** Of version 2 of the PROXY protocol, with extensions of no bytes. */
function proxyHeader(bytes: number): Buffer {
  const extensions = Buffer.alloc(3 * Math.floor(bytes / 3 / 16), 0).map((_, at) =>
    at % 3 === 0 ? 0xe0 : 0,
  );
  const head = Buffer.from('0d0a0d0a000d0a515549540a21110000', 'hex');
  head.writeUInt16BE(12 + extensions.length, 14);
  return Buffer.concat([head, Buffer.alloc(12, 1), extensions]);
}

function decodeBase64(encoded: Buffer, pieceBytes: number): void {
  const decoder = new Base64Decoder();
  for (let at = 0; at < encoded.length; at += pieceBytes)
    decoder.write(encoded, at, Math.min(encoded.length, at + pieceBytes));
}

function description(bytes: number, operation: object): object {
  const paths = Array.from({ length: Math.ceil(bytes / 64) }, (_, index) => [
    `/a/{x}/${index}`,
    { get: operation },
  ]);
  return { openapi: '3.1.0', info: { title: 'a', version: '1' }, paths: Object.fromEntries(paths) };
}

function imported(document: unknown): unknown {
  const read = readDescription(document);
  if ('problem' in read) throw new Error(read.problem);
  const options = {
    app: 'a',
    version: 'v1',
    revision: 'r1',
    gatewayPath: '/a',
    backend: 'http://a',
    security: true,
  };
  const tree = importTree(read, options, undefined);
  expect(tree).toHaveProperty('app');
  return tree;
}

const ROWS: readonly (readonly [name: string, prepare: Prepare])[] = [
  // Sixteen times shorter than the others: a longer header is refused.
  [
    'PROXY header, extensions',
    (bytes) => {
      const header = proxyHeader(bytes);
      expect(readProxyHeader(header)).toMatchObject({ kind: 'complete', length: header.length });
      return () => readProxyHeader(header);
    },
  ],
  [
    'PROXY header, blanks',
    (bytes) => {
      const header = Buffer.from(`PROXY TCP4${text(bytes, ' ')}\r\n`);
      return () => readProxyHeader(header);
    },
  ],
  [
    'the names of a certificate',
    (bytes) => {
      const names = Buffer.concat(many(bytes, ATTRIBUTE));
      return () => expect(distinguishedName(new DerReader(names))).toMatch(/^CN=a\\,/);
    },
  ],
  [
    'a certificate of sequences',
    (bytes) => {
      const nested = many(bytes, Buffer.from([0x30, 0x80]));
      const flat = der(0x30, der(0x30, ...many(bytes, Buffer.from([0x30, 0x00]))));
      return () => [readCertificate(Buffer.concat(nested)), readCertificate(flat)];
    },
  ],
  [
    'certificates without an end',
    (bytes) => {
      const pem = text(bytes, '-----BEGIN CERTIFICATE-----\n');
      return () => readPemCertificates(pem, Infinity);
    },
  ],
  [
    'certificates without a beginning',
    (bytes) => {
      const pem = text(bytes, '-----END CERTIFICATE-----\n-----BEGIN CERT');
      return () => readPemCertificates(pem, Infinity);
    },
  ],
  [
    'the entries of a revocation list',
    (bytes) => {
      const list = revocationList(bytes);
      expect(readRevocationLists(list)).toHaveLength(1);
      return () => readRevocationLists(list);
    },
  ],
  [
    'revocation lists without an end',
    (bytes) => {
      const pem = Buffer.from(text(bytes, '-----BEGIN X509 CRL-----\n'));
      return () => readRevocationLists(pem);
    },
  ],
  [
    'gRPC-Web, a message in pieces of one byte',
    (bytes) => {
      const encoded = Buffer.from(text(bytes, 'QUFB'));
      return () => decodeBase64(encoded, 1);
    },
  ],
  [
    'gRPC-Web, padded pieces',
    (bytes) => {
      const encoded = Buffer.from(text(bytes, 'QQ=='));
      return () => decodeBase64(encoded, encoded.length);
    },
  ],
  [
    'gRPC-Web, an answer',
    (bytes) => {
      const message = Buffer.alloc(bytes, 1);
      return () => base64Piece(message);
    },
  ],
  [
    'gRPC-Web, trailers',
    (bytes) => {
      const trailers = text(bytes, 'A-b: c\r\n');
      return () => trailerMessage(trailers);
    },
  ],
  [
    'gRPC-Web, a type',
    (bytes) => {
      const type = `application/grpc-web-text+${text(bytes, 'a+')};`;
      return () => grpcWebForm(type, undefined);
    },
  ],
  [
    'gRPC-Web, what is accepted',
    (bytes) => {
      const accept = text(bytes, ', \t');
      return () => grpcWebForm('application/grpc-web', accept);
    },
  ],
  [
    'a collector that says how much it has not taken',
    (bytes) => {
      const field = Buffer.from([0x08, 0x01]);
      const answer = Buffer.concat([Buffer.from([0x0a, 0x02, 0x08, 0x01]), ...many(bytes, field)]);
      return () => partialSuccess(answer);
    },
  ],
  [
    'a collector that says when to try again',
    (bytes) => {
      const after = `1${text(bytes, ' ')}x`;
      return () => retryWaitMs(after, 0);
    },
  ],
  [
    'a description, operations',
    (bytes) => {
      const document = description(bytes, { security: [{ key: [] }] });
      return () => imported(document);
    },
  ],
  [
    'a description, references to references',
    (bytes) => {
      const names = Array.from({ length: Math.ceil(bytes / 64) }, (_, index) => [
        `p${index}`,
        { $ref: `#/components/pathItems/p${index + 1}` },
      ]);
      const document = {
        ...description(0, {}),
        paths: { '/a': { $ref: '#/components/pathItems/p0' } },
        components: { pathItems: Object.fromEntries(names) },
      };
      return () => readDescription(document);
    },
  ],
  [
    'a foreign document, lines',
    (bytes) => {
      const yaml = Buffer.from(Array.from({ length: bytes / 8 }, (_, index) => `k${index}: 1\n`).join(''));
      return () => readForeign(yaml);
    },
  ],
];

it.each(ROWS)('%s', { timeout: 60_000 }, async (_name, prepare) => {
  expect(await growth(prepare)).toMatchObject({ isLinear: true });
});
