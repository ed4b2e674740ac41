/** The same write elsewhere, as a call with curl; same-command.ts has it as a command. Pure. */
import { urlOf } from '../../api/call.ts';
import type { Change } from './save-context.ts';
import { quoted } from './shell-words.ts';

/**
 * For a shell; `HEADGATE_TOKEN` stands for the admin token.
 *
 * @param file that gets the answer; undefined: it is printed
 */
export function curlOf(
  operation: string,
  options: Change['options'],
  origin = window.location.origin,
  file?: string,
): string {
  const method = operation.slice(0, operation.indexOf(' '));
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return [
    `curl -X ${method} ${quoted(origin + urlOf(operation, options))}`,
    `-H "Authorization: Bearer $HEADGATE_TOKEN"`,
    ...(file === undefined ? [] : [`-o ${quoted(file)}`]),
    ...(options.ifMatch === undefined ? [] : [`-H ${quoted(`If-Match: ${options.ifMatch}`)}`]),
    ...(options.body === undefined
      ? []
      : [`-H ${quoted(`Content-Type: ${type}`)}`, `-d ${quoted(JSON.stringify(options.body))}`]),
  ].join(' \\\n  ');
}
