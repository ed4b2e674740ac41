/**
 * What a program or shared library for Linux says of itself (ELF, gABI chapters 4 and 5): its processor, its loader and
 * the libraries that it needs. Read from the file, so that those for another processor can be looked at, too. 64 bits,
 * little endian: nothing else is packaged.
 */
import { readFileSync } from 'node:fs';

export interface Elf {
  readonly machine: ElfMachine;
  /** Path of the loader; undefined: of a library. */
  readonly interpreter: string | undefined;
  /** Names of the libraries, such as `libc.so.6`. */
  readonly needed: readonly string[];
}

/** `e_machine`, by the names that Node.js has for processors. */
const MACHINES = { 62: 'x64', 183: 'arm64' } as const;
export type ElfMachine = (typeof MACHINES)[keyof typeof MACHINES];

const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const PT = { LOAD: 1, DYNAMIC: 2, INTERP: 3 };
const DT = { NEEDED: 1, STRTAB: 5 };
const DYNAMIC_BYTES = 16;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly bytes: number;
}

/** @throws Error where the file is none, or for a processor that nothing is packaged for */
export function readElf(path: string): Elf {
  const file = readFileSync(path);
  if (!file.subarray(0, MAGIC.length).equals(MAGIC))
    throw new Error(`Cannot read ${path}: expected a program or library for Linux with 64 bits`);
  const number = file.readUInt16LE(18);
  const machine = MACHINES[number as keyof typeof MACHINES] as ElfMachine | undefined;
  if (machine === undefined) throw new Error(`Cannot read ${path}: its processor has the number ${number}`);
  const segments = segmentsOf(file);
  const interpreter = segments.find(({ type }) => type === PT.INTERP);
  return {
    machine,
    interpreter: interpreter && textAt(file, interpreter.offset),
    needed: neededBy(file, segments),
  };
}

function segmentsOf(file: Buffer): Segment[] {
  const start = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_segment, index) => {
    const at = start + index * size;
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      bytes: Number(file.readBigUInt64LE(at + 32)),
    };
  });
}

function neededBy(file: Buffer, segments: readonly Segment[]): string[] {
  const dynamic = segments.find(({ type }) => type === PT.DYNAMIC);
  if (dynamic === undefined) return [];
  const names: number[] = [];
  let table = 0;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.bytes; at += DYNAMIC_BYTES) {
    const tag = Number(file.readBigUInt64LE(at));
    const value = Number(file.readBigUInt64LE(at + 8));
    if (tag === DT.NEEDED) names.push(value);
    else if (tag === DT.STRTAB) table = value;
  }
  const loaded = segments.find(
    ({ type, address, bytes }) => type === PT.LOAD && table >= address && table < address + bytes,
  );
  if (loaded === undefined) return [];
  return names.map((name) => textAt(file, table - loaded.address + loaded.offset + name));
}

const textAt = (file: Buffer, at: number): string => file.toString('latin1', at, file.indexOf(0, at));
