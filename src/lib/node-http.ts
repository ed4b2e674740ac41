/**
 * `node:http` without the cost of an import. An import reads every export of the module, and `WebSocket` among them
 * loads the client behind `fetch`: 60 ms of processor time at each start of a gateway or a command.
 */
const http = process.getBuiltinModule('node:http');

export const { createServer, STATUS_CODES, request } = http;
