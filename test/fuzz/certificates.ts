/**
 * Fuzzers of what is read of certificates, revocation lists and the first message of a TLS connection: whole ones are
 * read as they were written, and damaged ones end in an answer.
 */
import { X509Certificate } from 'node:crypto';
import { readClientHello } from '../../src/proxy/downstream/tls/client-hello.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { readRevocationLists } from '../../src/x509/revocation-list.ts';
import { pem } from '../support/data/pem.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

const SAMPLES = ['backend.pem', 'site.pem', 'wildcard.pem', 'ca.pem'].map(
  (name) => new X509Certificate(pem(name)).raw,
);

export const certificateFuzzer: Fuzzer = {
  name: 'certificates',
  step: (random) => {
    const sample = random.pick(SAMPLES);
    const whole = readCertificate(sample);
    const node = new X509Certificate(sample);
    checkEqual(
      whole && [
        whole.serial.replace(/^0+/, '').toUpperCase(),
        whole.validFromMs,
        whole.expiresAtMs,
        whole.isCa,
      ],
      [
        node.serialNumber.replace(/^0+/, ''),
        Date.parse(node.validFrom),
        Date.parse(node.validTo) + 999,
        node.ca,
      ],
      'Read in another way than Node',
    );
    const damaged = damage(sample, random);
    const read = readCertificate(damaged);
    if (read === undefined) return;
    check(read.raw.equals(damaged), 'The certificate is another one');
    check(read.validFromMs === Date.parse(read.x509.validFrom), `Another time: ${damaged.toString('hex')}`);
  },
};

/** OID of ecdsa-with-SHA256, in a SEQUENCE. */
const ALGORITHM = Buffer.from('300a06082a8648ce3d040302', 'hex');

export const revocationListFuzzer: Fuzzer = {
  name: 'revocation-lists',
  step: (random) => {
    const wanted = Array.from({ length: random.below(200) }, () => random.below(2 ** 31));
    const isCritical = random.oneIn(10);
    const whole = listOf(wanted, isCritical);
    const lists = readRevocationLists(whole);
    check('error' in lists === isCritical, `Not as it was written: ${whole.toString('hex')}`);
    if (!('error' in lists)) checkEqual(lists[0]?.size, new Set(wanted).size, 'Another number of entries');
    readRevocationLists(damage(whole, random));
    const text = `-----BEGIN X509 CRL-----\n${whole.toString('base64')}\n-----END X509 CRL-----\n`;
    const many = text.repeat(random.below(4));
    const read = readRevocationLists(Buffer.from(random.oneIn(2) ? many : mutate(many, random), 'latin1'));
    if (!('error' in read)) check(read.length > 0, 'No list is an error');
  },
};

function listOf(serials: readonly number[], isCritical: boolean): Buffer {
  const time = der(0x17, Buffer.from('260101000000Z'));
  const entries = serials.map((serial) => der(0x30, integer(serial), time));
  const scope = der(
    0x30,
    der(0x06, Buffer.from('551d1c', 'hex')),
    der(0x01, Buffer.from([0xff])),
    der(0x04, der(0x30)),
  );
  const body = der(
    0x30,
    integer(1),
    ALGORITHM,
    der(0x30),
    time,
    time,
    ...(entries.length === 0 ? [] : [der(0x30, ...entries)]),
    ...(isCritical ? [der(0xa0, der(0x30, scope))] : []),
  );
  return der(0x30, body, ALGORITHM, der(0x03, Buffer.from([0, 1, 2])));
}

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(value, 1);
  return der(0x02, bytes);
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const length = body.length;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}

export const clientHelloFuzzer: Fuzzer = {
  name: 'client-hellos',
  step: (random) => {
    const name = random.oneIn(4) ? '' : `${'abcxyz'.slice(random.below(6))}.Example.test`;
    const whole = helloFor(name, random);
    const behind = Buffer.alloc(random.below(50), random.below(256));
    checkEqual(
      readClientHello(Buffer.concat([whole, behind])),
      { kind: 'read', hello: { serverName: name.toLowerCase(), isChallenge: false } },
      `Not read: ${whole.toString('hex')}`,
    );
    const bytes = random.oneIn(2) ? whole : damage(Buffer.concat([whole, behind]), random);
    random.bytes += bytes.length;
    const read = readClientHello(bytes);
    const cut = readClientHello(bytes.subarray(0, random.below(bytes.length + 1)));
    if (cut.kind === 'read') checkEqual(cut, read, `Changed its mind: ${bytes.toString('hex')}`);
  },
};

/** In records of any length. */
function helloFor(name: string, random: Random): Buffer {
  const host = Buffer.from(name, 'latin1');
  const others = Array.from({ length: random.below(5) }, () =>
    extension(random.pick([10, 13, 16, 43, 51, 0x1a1a]), Buffer.alloc(random.below(300), random.below(256))),
  );
  const named =
    name === '' ? [] : [extension(0, vector(2, Buffer.concat([Buffer.from([0]), vector(2, host)])))];
  const at = random.below(others.length + 1);
  const extensions = Buffer.concat([...others.slice(0, at), ...named, ...others.slice(at)]);
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, random.below(256)),
    vector(1, Buffer.alloc(random.below(33))),
    vector(2, Buffer.from([0x13, 0x01, 0x13, 0x02])),
    vector(1, Buffer.from([0])),
    vector(2, extensions),
  ]);
  const message = Buffer.concat([Buffer.from([1]), vector(3, body)]);
  const records: Buffer[] = [];
  for (let from = 0; from < message.length;) {
    const end = Math.min(message.length, from + 1 + random.below(random.oneIn(3) ? 20 : message.length));
    records.push(Buffer.from([22, 3, 1]), vector(2, message.subarray(from, end)));
    from = end;
  }
  return Buffer.concat(records);
}

function extension(type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type >> 8, type & 255]), vector(2, body)]);
}

/** With its length in so many bytes. */
function vector(lengthBytes: number, body: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(body.length, 0, lengthBytes);
  return Buffer.concat([length, body]);
}

/** Some bytes changed, left out, or doubled. */
function damage(bytes: Buffer, random: Random): Buffer {
  random.bytes += bytes.length;
  if (random.oneIn(4)) return Buffer.from(mutate(bytes.toString('latin1'), random), 'latin1');
  const copy = Buffer.from(bytes);
  for (let count = 1 + random.below(4); count > 0; count--)
    copy[random.below(copy.length)] = random.below(256);
  return random.oneIn(4) ? copy.subarray(0, random.below(copy.length + 1)) : copy;
}
