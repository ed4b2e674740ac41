/** A recorded request as a described one, for explaining it on a configuration other than that in force. Pure. */
import { REDACTED, type ExplainInput, type Explanation } from '../schema.ts';
import type { RecordedRequest } from '../traffic/traffic-record.ts';
import type { RecordedCallers } from './recorded-callers.ts';

/** Credentials are replaced by placeholders that `callers` recognises. */
export function recordedInput(
  { method, host, path, clientIp, bodyBytes, fields }: RecordedRequest,
  callers: RecordedCallers,
): ExplainInput {
  const headers: Record<string, string[]> = host === '' ? {} : { Host: [host] };
  for (const field of fields) {
    const value = 'value' in field ? field.value : callers.fieldValue(field.name, field.credential);
    (headers[field.name] ??= []).push(value);
  }
  return {
    method,
    url: path,
    headers,
    client_ip: clientIp,
    ...(bodyBytes > 0 && { body_bytes: bodyBytes }),
  };
}

/** Hides the values of fields, in which placeholders replace what was recorded. */
export function withoutPlaceholders(explanation: Explanation): Explanation {
  const { request, upstream } = explanation;
  const hidden = ({ name }: { readonly name: string }): { name: string; value: string } => ({
    name,
    value: name.toLowerCase() === 'host' ? request.host : REDACTED,
  });
  return {
    ...explanation,
    request: { ...request, headers: request.headers.map(hidden) },
    upstream: upstream && { ...upstream, headers: upstream.headers.map(hidden) },
  };
}
