/**
 * A peer: the npm package `fast-gateway`, passing everything on. It is not among the project's packages; who wants it
 * in the bench installs it beside them (docs/explanation/performance.md).
 */
interface FastGateway {
  start(port: number, host: string): Promise<unknown>;
}

interface FastGatewayOptions {
  readonly routes: readonly {
    readonly prefix: string;
    readonly prefixRewrite: string;
    readonly target: string;
  }[];
}

// Not known to the compiler, since it need not be there.
const name = 'fast-gateway';
const { default: gateway } = (await import(name)) as {
  readonly default: (options: FastGatewayOptions) => FastGateway;
};
const target = `http://127.0.0.1:${process.env['BENCH_ORIGIN_PORT']}`;
await gateway({ routes: [{ prefix: '/shop', prefixRewrite: '/shop', target }] }).start(
  Number(process.env['BENCH_PORT']),
  '127.0.0.1',
);
