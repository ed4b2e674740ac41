/**
 * Fills the `{name}`s of a backend path with what an endpoint's path captured. Captured values come from a
 * canonical path: they are percent-encoded already, so encoding is completed, never repeated.
 */
import { HEX_VALUE } from './characters.ts';
import { canonicalPath } from './canonical-path.ts';

const PERCENT = 0x25;

/**
 * `backendPath` with each `{name}` replaced by the value at the same index of `values`, and a final `*` by the
 * value whose name is `*`, which alone may hold slashes. Unknown names are left out. Undefined when the result
 * would not be a canonical path, that is when a value would leave its segment; the request is then a 400.
 */
export function fillTemplate(
  backendPath: string,
  names: readonly string[],
  values: readonly string[],
): string | undefined {
  let path = '';
  let position = 0;
  for (let open = backendPath.indexOf('{'); open >= 0; open = backendPath.indexOf('{', position)) {
    const close = backendPath.indexOf('}', open);
    if (close < 0) break;
    path +=
      backendPath.slice(position, open) +
      encodeSegment(values[names.indexOf(backendPath.slice(open + 1, close))] ?? '');
    position = close + 1;
  }
  path += backendPath.slice(position);
  if (path.endsWith('/*')) path = path.slice(0, -1) + (values[names.indexOf('*')] ?? '');
  const canonical = canonicalPath(path);
  return typeof canonical === 'string' ? canonical : undefined;
}

/** `value` with everything encoded that is not allowed in a segment; valid percent-encoding is kept as it is. */
function encodeSegment(value: string): string {
  let segment = '';
  for (let position = 0; position < value.length; position++) {
    const code = value.charCodeAt(position);
    if (code === PERCENT && isHex(value, position + 1) && isHex(value, position + 2)) segment += '%';
    else if (/[A-Za-z0-9._~!$&'()*+,;=:@-]/.test(value.charAt(position))) segment += value.charAt(position);
    else segment += encodeURIComponent(value.charAt(position).toWellFormed());
  }
  return segment;
}

function isHex(text: string, position: number): boolean {
  return (HEX_VALUE[text.charCodeAt(position)] ?? 0xff) < 16;
}
