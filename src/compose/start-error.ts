/** An error that stops the start and that an operator can fix: shown as one line, without a stack. */
import { systemCode, systemReason } from '../lib/error-message.ts';

export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'StartError';
  }
}

/** What makes another port help; everything else is about the address. */
const ABOUT_PORTS: readonly string[] = ['EADDRINUSE', 'EACCES'];

/**
 * @param what what was wanted, such as `traffic` @param at its address or path
 * @param setting the setting that names its port or path; that of the address has the same name with HOST
 */
export function listenError(what: string, at: string, setting: string, error: unknown): StartError {
  const named = ABOUT_PORTS.includes(systemCode(error))
    ? setting
    : setting.replace(/(?:TLS__)?PORT$/, 'HOST');
  const part = named.endsWith('PORT') ? 'port' : named.endsWith('HOST') ? 'address' : 'path';
  const text = `Cannot listen for ${what} on ${at}: ${systemReason(error)}; headgate doctor says what to do, and ${named} sets the ${part}`;
  return new StartError(text, error);
}

export function startError(what: string, error: unknown): StartError {
  return new StartError(`${what}: ${systemReason(error)}`, error);
}
