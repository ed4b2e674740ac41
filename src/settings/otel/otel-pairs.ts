/** `name=value` pairs, percent-encoded where needed (W3C Baggage, as the OpenTelemetry specification has it). Pure. */
import type { Parsed } from '../settings-values.ts';

const PAIR = /^[!#$%&'*+.^_`|~\w/-]{1,256}=[\x21-\x2b\x2d-\x7e]{0,1024}$/;

export const otelPair = (value: string): Parsed<string> =>
  PAIR.test(value) ? { value } : { expected: 'name=value, separated by commas' };

/** Characters of a field value (RFC 9110 section 5.5), decoded as the value will be. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A pair that is a header field. */
export const otelHeader = (value: string): Parsed<string> => {
  const parsed = otelPair(value);
  return 'value' in parsed && !Object.values(pairsOf([value])).every((text) => FIELD_VALUE.test(text))
    ? { expected: 'values without line breaks and other characters that a header field cannot have' }
    : parsed;
};

export function pairsOf(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const equals = text.indexOf('=');
      return [text.slice(0, equals), percentDecoded(text.slice(equals + 1))];
    }),
  );
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
