/**
 * Characters that control a terminal, change the direction of text or end a line, apart from those below U+0020: the
 * inside of a class of a regular expression.
 */
export const TERMINAL_CONTROLS = String.raw`\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069`;
