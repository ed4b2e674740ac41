/**
 * The patterns of the schemas, and a text for each that follows the name of a field. People read the text in the
 * response to an invalid value; programs read the pattern in the OpenAPI document.
 */

/** RFC 9110 section 5.6.2 `token`. */
export const TOKEN_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
/** RFC 6750 section 2.1 `b64token`: what can follow `Bearer`. */
export const B64_TOKEN_PATTERN = '^[A-Za-z0-9._~+/-]+=*$';
/** A token, or the single `*` that means "every one". */
export const TOKEN_OR_STAR_PATTERN = "^(?:\\*|[!#$%&'*+.^_`|~0-9A-Za-z-]+)$";
/**
 * Contract part 5: scopes are arbitrary strings. A scope that is not a `scope-token` (RFC 6749 section 3.3) is compared
 * like any other, but cannot be listed in header fields, where spaces separate scopes.
 */
export const SCOPE_PATTERN = '^[^\\u0000-\\u001f\\u007f]+$';
/** Which requests a limit counts together. */
export const PER_PATTERN = "^(?:scope|api_key|ip|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|claim:.+)$";
export const HTTP_URL_PATTERN = '^https?://';
/** Labels of versions and revisions; also a single path segment, hence not `.` or `..`. */
export const LABEL_PATTERN = '^(?!\\.{1,2}$)[A-Za-z0-9._~-]{1,64}$';
/** A DNS label (RFC 1123). */
export const SLUG_PATTERN = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';
/**
 * Also excludes marks that embed, override or isolate the direction of text (UAX #9): they make a name appear as
 * another one.
 */
export const NO_CONTROL_CHARACTERS_PATTERN =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$';
/** Databases do not store NUL. */
export const NO_NUL_PATTERN = '^[^\\u0000]*$';
/** A single header field cannot contain a line break. */
export const ONE_LINE_PATTERN = '^[^\\r\\n]*$';
/**
 * A label, a path, or an HTTP URL. The last two use only URI characters (RFC 3986), so they cannot end a Link value.
 */
export const SUCCESSOR_PATTERN =
  "^(?:(?!\\.{1,2}$)[A-Za-z0-9._~-]{1,64}|(?:https?:/)?/[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]*)$";
export const PATH_PATTERN = '^/';
/** A path with an optional query, in visible ASCII characters. */
export const REQUEST_PATH_PATTERN = '^/[!-"$-~]*$';
export const STATUS_CLASS_PATTERN = '^[2-5]xx$';
/** The common name of two files; not a path. */
export const CERTIFICATE_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]*$';
/** SHA-256 in base64. */
export const PIN_PATTERN = '^[A-Za-z0-9+/]{43}=$';
/** The zone of a target. */
export const ZONE_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]*$';
export const API_PATH_PATTERN = '^/api/v1/';
/** The id of an operation in a transaction. */
export const OPERATION_ID_PATTERN = '^[A-Za-z][A-Za-z0-9_-]{0,63}$';
/** A value of GATEWAY_ADMIN_TOKEN or of a stored admin token. */
export const ADMIN_TOKEN_PATTERN = '^[!-~]{1,512}$';
/** A method (RFC 9110 section 9.1) of a realistic length. */
export const METHOD_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$";
/** The target of a request as it is sent (RFC 9112 section 3.2.1). */
export const SENT_PATH_PATTERN = '^/[!-~]*$';
export const VISIBLE_ASCII_PATTERN = '^[!-~]+$';
export const DATE_PATTERN = '^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$';

const TOKEN_WORDS = "must contain only letters, digits and !#$%&'*+-.^_`|~";

/** SHA-256 in lower-case hexadecimal. */
export const SHA256_HEX_PATTERN = '^[0-9a-f]{64}$';

const STATUSES = '(?:[1-5]xx|(?:>=|<=|>|<)?[1-5][0-9]{2})';
/** `2xx`, `404`, `>=500`, `<400`, or several of them with commas between. */
export const STATUS_FILTER_PATTERN = `^${STATUSES}(?:,${STATUSES}){0,9}$`;

/** How a configuration file names an endpoint. */
export const ENDPOINT_LABEL_PATTERN = '^(GET|POST|PUT|PATCH|DELETE|\\*) /';
/** Bounded for an API key's name in a configuration file. */
export const KEY_NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f]{1,210}$';

export const PATTERN_WORDS: Readonly<Record<string, string>> = {
  [TOKEN_PATTERN]: TOKEN_WORDS,
  [ZONE_PATTERN]: 'must contain only letters, digits, ., _ and -, and begin with a letter or digit',
  [TOKEN_OR_STAR_PATTERN]: TOKEN_WORDS,
  [B64_TOKEN_PATTERN]: 'must contain only letters, digits and -._~+/, and "=" only at the end',
  [SCOPE_PATTERN]: 'must not be empty or contain control characters',
  [PER_PATTERN]: 'must be "scope", "api_key", "ip", "header:<name>" or "claim:<name>"',
  [HTTP_URL_PATTERN]: 'must start with "http://" or "https://"',
  [LABEL_PATTERN]: 'must be 1 to 64 letters, digits and ._~- and neither "." nor ".."',
  [SLUG_PATTERN]: 'must be 1 to 63 lower-case letters, digits and inner dashes',
  [NO_CONTROL_CHARACTERS_PATTERN]:
    'must not contain control characters, such as line breaks, or marks that change the direction of text',
  [NO_NUL_PATTERN]: 'must not contain the character U+0000',
  [ONE_LINE_PATTERN]: 'must not contain line breaks',
  [SUCCESSOR_PATTERN]:
    'must be the label of a version of the app, a path that starts with "/", or an http:// or https:// URL',
  [PATH_PATTERN]: 'must start with "/"',
  [REQUEST_PATH_PATTERN]:
    'must start with "/" and contain only visible ASCII characters except "#"; others must be percent-encoded',
  [PIN_PATTERN]: 'must be the base64 of a SHA-256, 44 characters that end in "="',
  [STATUS_CLASS_PATTERN]: 'must be a class of statuses such as "2xx"',
  [STATUS_FILTER_PATTERN]: 'must be statuses such as "404", "2xx" or ">=500", at most 10 with commas between',
  [API_PATH_PATTERN]: 'must start with "/api/v1/"',
  [OPERATION_ID_PATTERN]: 'must be 1 to 64 letters, digits, "_" and "-", beginning with a letter',
  [ADMIN_TOKEN_PATTERN]: 'must be 1 to 512 visible ASCII characters',
  [METHOD_PATTERN]: "must be 1 to 32 letters, digits and !#$%&'*+-.^_`|~",
  [SENT_PATH_PATTERN]: 'must start with "/" and contain only visible ASCII characters',
  [VISIBLE_ASCII_PATTERN]: 'must contain only visible ASCII characters',
  [ENDPOINT_LABEL_PATTERN]:
    'must be GET, POST, PUT, PATCH, DELETE or *, a space, and a path such as "/items/{id}"',
  [KEY_NAME_PATTERN]: 'must be 1 to 210 characters without control characters',
  [DATE_PATTERN]: 'must be a date such as 2030-01-31',
  [SHA256_HEX_PATTERN]: 'must be a SHA-256 as 64 lower-case hexadecimal digits',
};
