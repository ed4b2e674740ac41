/** `headgate doctor`: finds problems of this machine and these settings, and says how to fix them. Only prints. */
import type { Command } from 'commander';
import type { Finding } from '../../control/doctor/finding.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { printable, type CliIo } from '../io.ts';
import { addExamples, addOutputFlag, writeJson, type OutputFlags } from '../show/output-format.ts';

const STATE_WIDTH = 'warning'.length;

export function addDoctorCommand(
  program: Command,
  examine: () => Promise<readonly Finding[]>,
  io: CliIo,
): void {
  addExamples(
    addOutputFlag(program.command('doctor')).description(
      'check settings, files, ports, sockets, database, store, clock and limits of this machine, and say what to do; exit code 1 for an error',
    ),
    'headgate doctor',
    'headgate doctor --output json',
  ).action(async (flags: OutputFlags) => {
    const findings = await examine();
    const isHealthy = findings.every(({ state }) => state !== 'error');
    if (flags.output === 'json') writeJson({ healthy: isHealthy, findings }, io);
    else io.out(findingsText(findings));
    if (!isHealthy) io.exit(EXIT_CODES.failed.code);
  });
}

function findingsText(findings: readonly Finding[]): string {
  const checkWidth = Math.max(...findings.map(({ check }) => check.length));
  const indent = ' '.repeat(STATE_WIDTH + checkWidth + 4);
  return findings
    .map(({ check, state, detail, fix }) => {
      const line = `${state.padEnd(STATE_WIDTH)}  ${check.padEnd(checkWidth)}  ${printable(detail)}\n`;
      return fix === undefined ? line : `${line}${indent}${printable(fix)}\n`;
    })
    .join('');
}
