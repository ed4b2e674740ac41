/** Fuzzer of the PROXY header: damaged headers, and whole ones with whatever a connection has behind them. */
import { readProxyHeader } from '../../src/http/heads/proxy-header.ts';
import { binaryHeader, proxyBytes, proxyLine } from '../support/clients/proxy-headers.ts';
import { check, checkEqual, type Fuzzer } from './fuzzer.ts';
import { mutate } from './mutate.ts';
import type { Random } from './random.ts';

export const proxyHeaderFuzzer: Fuzzer = {
  name: 'proxy-headers',
  step: (random) => {
    const client = [1, 2, 3, 4].map(() => random.below(256)).join('.');
    const whole = random.oneIn(2)
      ? Buffer.from(proxyLine(client))
      : proxyBytes(client, someExtensions(random));
    const behind = Buffer.from(
      random.repeat(random.below(40), () => String.fromCharCode(random.below(256))),
      'latin1',
    );
    const read = readProxyHeader(Buffer.concat([whole, behind]));
    checkEqual(
      read,
      { kind: 'complete', length: whole.length, client },
      `Not read: ${whole.toString('hex')}`,
    );
    checkStable(damaged(random, whole, behind), random);
  },
};

/** What is decided on some bytes stays so, however many follow; nothing longer than what arrived is read. */
function checkStable(bytes: Buffer, random: Random): void {
  random.bytes += bytes.length;
  const read = readProxyHeader(bytes);
  const cut = readProxyHeader(bytes.subarray(0, random.below(bytes.length + 1)));
  if (cut.kind !== 'incomplete') checkEqual(cut, read, `Changed its mind: ${bytes.toString('hex')}`);
  if (read.kind === 'complete') check(read.length <= bytes.length, `Too long: ${bytes.toString('hex')}`);
}

function damaged(random: Random, whole: Buffer, behind: Buffer): Buffer {
  if (random.oneIn(3)) {
    const rest = Buffer.alloc(random.below(5_000), random.below(256));
    return binaryHeader(random.pick([0x20, 0x21, 0x22, 0x11]), random.below(256), rest);
  }
  return Buffer.from(mutate(Buffer.concat([whole, behind]).toString('latin1'), random), 'latin1');
}

/** Any but a checksum, which would have to be right. */
function someExtensions(random: Random): Buffer {
  const parts: Buffer[] = [];
  for (let count = random.below(4); count > 0; count--) {
    const value = Buffer.alloc(random.below(300), random.below(256));
    parts.push(
      Buffer.from([random.pick([0x01, 0x02, 0x04, 0x05, 0x20, 0xea]), value.length >> 8, value.length & 255]),
      value,
    );
  }
  return Buffer.concat(parts);
}
