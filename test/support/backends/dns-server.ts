/**
 * A DNS server for tests (RFC 1035), on loopback and a free port, over UDP and, for long answers, TCP. Knows A, AAAA
 * and SRV records that the test gives it, counts the questions, and can fail in the ways in which servers do.
 */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

const TYPES = { A: 1, AAAA: 28, SRV: 33 } as const;
type RecordType = keyof typeof TYPES;
/** Without EDNS a client takes so much over UDP. */
const UDP_BYTES_MAX = 512;
const CODES = { ok: 0, servfail: 2, nxdomain: 3, refused: 5 } as const;

/** `silent` answers nothing. */
export type DnsMode = keyof typeof CODES | 'silent';

export interface SrvRecord {
  readonly name: string;
  readonly port: number;
  readonly priority?: number;
  readonly weight?: number;
}

interface Answers {
  readonly data: readonly Buffer[];
  readonly ttlSecs: number;
}

export class DnsServer {
  /** Questions so far, such as `A billing.test`. */
  readonly questions: string[] = [];
  mode: DnsMode = 'ok';
  /** Of questions of one type. */
  readonly modes = new Map<RecordType, DnsMode>();
  readonly #answers = new Map<string, Answers>();
  /** Of which there is an answer of some type. */
  readonly #names = new Set<string>();
  readonly #udp: UdpSocket = createSocket('udp4');
  readonly #tcp: Server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();
  #port = 0;

  /** `127.0.0.1:port`. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#tcp.listen(0, '127.0.0.1', done));
    this.#port = (this.#tcp.address() as AddressInfo).port;
    this.#udp.on('message', (question, { port, address }) => {
      const answer = this.#answer(question);
      if (answer === undefined) return;
      this.#udp.send(answer.length > UDP_BYTES_MAX ? truncated(answer) : answer, port, address);
    });
    await new Promise<void>((done) => this.#udp.bind(this.#port, '127.0.0.1', done));
  }

  close(): void {
    this.#udp.close();
    this.#tcp.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  count(question: string): number {
    return this.questions.filter((each) => each === question).length;
  }

  /** No addresses: the name has no records of this kind. */
  setA(name: string, addresses: readonly string[], ttlSecs = 0): void {
    const data = addresses.map((address) => Buffer.from(address.split('.').map(Number)));
    this.#set('A', name, { data, ttlSecs });
  }

  /** Addresses with all eight groups. */
  setAaaa(name: string, addresses: readonly string[], ttlSecs = 0): void {
    const data = addresses.map((address) =>
      Buffer.from(
        address
          .split(':')
          .map((group) => group.padStart(4, '0'))
          .join(''),
        'hex',
      ),
    );
    this.#set('AAAA', name, { data, ttlSecs });
  }

  setSrv(name: string, records: readonly SrvRecord[], ttlSecs = 0): void {
    const data = records.map(({ name: target, port, priority = 10, weight = 10 }) => {
      const numbers = Buffer.alloc(6);
      numbers.writeUInt16BE(priority, 0);
      numbers.writeUInt16BE(weight, 2);
      numbers.writeUInt16BE(port, 4);
      return Buffer.concat([numbers, nameBytes(target)]);
    });
    this.#set('SRV', name, { data, ttlSecs });
  }

  #set(type: RecordType, name: string, answers: Answers): void {
    this.#answers.set(`${type} ${name}`, answers);
    this.#names.add(name);
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const answer = this.#answer(received.subarray(2, end));
        received = received.subarray(end);
        if (answer === undefined) continue;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(answer.length);
        socket.write(Buffer.concat([length, answer]));
      }
    });
  }

  #answer(question: Buffer): Buffer | undefined {
    const { name, end } = readName(question, 12);
    const number = question.readUInt16BE(end);
    const type = (Object.keys(TYPES) as RecordType[]).find((each) => TYPES[each] === number);
    if (type === undefined) return undefined;
    this.questions.push(`${type} ${name}`);
    const mode = this.modes.get(type) ?? this.mode;
    if (mode === 'silent') return undefined;
    const answers = mode === 'ok' ? this.#answers.get(`${type} ${name}`) : undefined;
    const code = mode !== 'ok' ? CODES[mode] : this.#names.has(name) ? CODES.ok : CODES.nxdomain;
    return message(question.subarray(0, end + 4), number, code, answers);
  }
}

export async function startDnsServer(): Promise<DnsServer> {
  const server = new DnsServer();
  await server.listen();
  return server;
}

function message(question: Buffer, type: number, code: number, answers: Answers | undefined): Buffer {
  const head = Buffer.alloc(12);
  question.copy(head, 0, 0, 2);
  // A response, with recursion desired and available.
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(answers?.data.length ?? 0, 6);
  const records = (answers?.data ?? []).map((data) => {
    const fields = Buffer.alloc(12);
    // A pointer to the name of the question.
    fields.writeUInt16BE(0xc00c, 0);
    fields.writeUInt16BE(type, 2);
    fields.writeUInt16BE(1, 4);
    fields.writeUInt32BE(answers?.ttlSecs ?? 0, 6);
    fields.writeUInt16BE(data.length, 10);
    return Buffer.concat([fields, data]);
  });
  return Buffer.concat([head, question.subarray(12), ...records]);
}

/** Says that the whole answer is to be had over TCP. */
function truncated(answer: Buffer): Buffer {
  const { end } = readName(answer, 12);
  const short = Buffer.from(answer.subarray(0, end + 4));
  short.writeUInt16BE(short.readUInt16BE(2) | 0x0200, 2);
  short.writeUInt16BE(0, 6);
  return short;
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function readName(bytes: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = bytes[at] ?? 0; length > 0; length = bytes[at] ?? 0) {
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), end: at + 1 };
}
