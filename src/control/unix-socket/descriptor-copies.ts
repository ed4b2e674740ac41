/**
 * Copies of the descriptor of a listening Unix socket, one for each worker to own and close. Node.js has no dup(2),
 * but it passes descriptors to child processes and receives them over a channel (SCM_RIGHTS). So a short-lived child
 * creates or receives the socket, and sends as many copies as requested. It accepts no connection: a socket that it
 * creates has a name that no client knows yet; of an existing socket it sends a single copy and ends within the same
 * turn of its event loop.
 */

/** A copy of the descriptor, which no thread polls. It must stay referenced as long as the process runs. */
export interface DescriptorCopy {
  readonly fd: number;
}

const TIMEOUT_MS = 20_000;
/** Connections that the kernel queues for all workers together, or `net.core.somaxconn` if that is less. */
const BACKLOG = 4096;
/** Arguments: the path of a socket to create, or none to use descriptor 4; and the number of copies. */
const PROGRAM = `
// Until the file has its final mode, no other user may connect.
process.umask(0o177);
const [path, count] = process.argv.slice(1);
let left = Number(count);
const end = () => process.kill(process.pid, 'SIGKILL');
const server = require('node:net').createServer();
server.on('error', (error) => process.send({ error: error.message }, end));
server.listen({ ...(path === '' ? { fd: 4 } : { path }), backlog: ${BACKLOG} });
const give = () => {
  process.send({}, server._handle);
  left -= 1;
  if (left === 0) end();
};
if (server.listening) give();
process.on('message', give);
process.on('disconnect', end);
`;

/**
 * @param source path of a socket to create, or descriptor of an existing one
 * @throws Error with the system's message
 */
export async function descriptorCopies(source: string | number, count: number): Promise<DescriptorCopy[]> {
  const { spawn } = await import('node:child_process');
  const path = typeof source === 'string' ? source : '';
  const passed = typeof source === 'number' ? [source] : [];
  const child = spawn(process.execPath, ['-e', PROGRAM, path, String(count)], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', ...passed],
  });
  const copies: DescriptorCopy[] = [];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    let problem = 'the program that shares it ended early';
    child.on('error', (error) => (problem = error.message));
    child.on('message', (message: { readonly error?: string }, handle: unknown) => {
      if (message.error !== undefined) problem = message.error;
      else copies.push(handle as DescriptorCopy);
      if (message.error === undefined && copies.length < count) child.send({});
    });
    child.once('close', () => {
      clearTimeout(timer);
      if (copies.length === count && copies.every(isCopy)) resolve(copies);
      else reject(new Error(copies.length === count ? 'it is not a Unix socket' : problem));
    });
  });
}

/** The copy is one of libuv's pipes, the type of its Unix sockets, and not a TCP socket. */
const isCopy = (copy: unknown): boolean =>
  copy?.constructor.name === 'Pipe' &&
  typeof copy === 'object' &&
  copy !== null &&
  'fd' in copy &&
  typeof copy.fd === 'number' &&
  copy.fd > 2;
