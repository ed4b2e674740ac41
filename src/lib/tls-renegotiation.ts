/**
 * For listeners with TLS 1.2: no further handshake within a connection. Node.js lets each client have three in ten
 * minutes. Each costs the signature of a new connection, none is needed, and HTTP/2 forbids them (RFC 9113 section 9.2.1);
 * TLS 1.3 has none.
 */
import { constants } from 'node:crypto';

/** Of `secureOptions`. */
export const NO_RENEGOTIATION = constants.SSL_OP_NO_RENEGOTIATION;
