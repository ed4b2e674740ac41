/** The two formats of every answer: text for people, and JSON for programs, which is `data` of the management API. */
import { Option, type Command } from 'commander';
import { visibleJson } from '../../lib/text/visible-json.ts';
import { warningLine } from '../../declaration/field-lines.ts';
import type { Place } from '../../declaration/yaml-reader.ts';
import type { ShownWarning } from '../gateway-client.ts';
import { printable, type CliIo } from '../io.ts';

export interface OutputFlags {
  readonly output: 'text' | 'json';
}

export function addOutputFlag(command: Command): Command {
  return command.addOption(
    new Option('--output <format>', 'text for people, json for programs')
      .choices(['text', 'json'])
      .default('text'),
  );
}

export function writeJson(value: unknown, io: CliIo): void {
  io.out(`${visibleJson(value, 2)}\n`);
}

/**
 * A warning with its pointer and its place in a file, for answers about many records, where the detail alone does
 * not identify the record.
 */
export function withPointer(warning: ShownWarning | (ShownWarning & Place)): ShownWarning {
  return { ...warning, detail: warningLine(warning) };
}

/** Writes the gateway's warnings to standard error, in both output formats. */
export function writeWarnings(warnings: readonly Omit<ShownWarning, 'pointer'>[], io: CliIo): void {
  for (const { code, detail } of warnings) io.err(`warning: ${printable(detail)} (${printable(code)})\n`);
}

const EXAMPLES = new WeakMap<Command, readonly string[]>();

/** The examples of a command, for the reference docs. */
export function examplesOf(command: Command): readonly string[] {
  return EXAMPLES.get(command) ?? [];
}

/** @param examples whole command lines with their purpose, as `headgate … # purpose` */
export function addExamples(command: Command, ...examples: readonly string[]): Command {
  EXAMPLES.set(command, examples);
  return command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}\n`).join('')}`);
}
