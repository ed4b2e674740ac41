/**
 * gRPC-Web, the form of gRPC for clients that cannot read trailers, such as pages in browsers: the same messages, with
 * the trailers as a last one, perhaps all in Base64. What is sent in it, as pure functions.
 * https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
import { grpcMessage } from './grpc-messages.ts';

export interface GrpcWebForm {
  /** The request is in Base64. */
  readonly isText: boolean;
  /** Whether the client wants the response in Base64. */
  readonly wantsText: boolean;
  /** How messages are written, such as `+proto`; may be empty. */
  readonly suffix: string;
}

const TYPE = /^application\/grpc-web(-text)?(\+[a-z0-9._-]+)?[ \t]*(?:;|$)/i;
const GRPC_TYPE = /^application\/grpc(\+[a-z0-9._-]+)?[ \t]*(?:;|$)/i;
const WANTS_TEXT = /(?:^|,)[ \t]*application\/grpc-web-text(?:[+; \t,]|$)/i;
const TRAILERS = 0x80;

/** @returns undefined if this is not gRPC-Web */
export function grpcWebForm(
  contentType: string | undefined,
  accept: string | undefined,
): GrpcWebForm | undefined {
  const match = contentType === undefined ? null : TYPE.exec(contentType);
  if (match === null) return undefined;
  const isText = match[1] !== undefined;
  return {
    isText,
    wantsText: isText || (accept !== undefined && WANTS_TEXT.test(accept)),
    suffix: match[2] ?? '',
  };
}

/** The content type of the call for the backend. */
export const grpcTypeOf = ({ suffix }: GrpcWebForm): string => `application/grpc${suffix}`;

/**
 * The content type of the response for the client.
 * @param backendType undefined: the response is the gateway's own
 * @returns undefined if the backend has not answered with gRPC
 */
export function webTypeOf(form: GrpcWebForm, backendType?: string): string | undefined {
  const match = backendType === undefined ? undefined : GRPC_TYPE.exec(backendType);
  if (match === null) return undefined;
  return `application/grpc-web${form.wantsText ? '-text' : ''}${match?.[1] ?? form.suffix}`;
}

/** @param trailers lines, each ending in CRLF */
export function trailerMessage(trailers: string): Buffer {
  const lines = trailers.replaceAll(/^[^:\r\n]+/gm, (name) => name.toLowerCase());
  return grpcMessage(Buffer.from(lines, 'latin1'), TRAILERS);
}
