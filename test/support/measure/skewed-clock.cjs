/**
 * Loaded before everything else into a gateway (`node --require`): its wall clock is wrong by TEST_CLOCK_SKEW_MS, in
 * all of its threads. The monotonic clock goes on as it is, as on a machine with a wrong clock.
 */
const skewMs = Number(process.env.TEST_CLOCK_SKEW_MS ?? '0');
const RealDate = Date;
const realNow = RealDate.now;

class SkewedDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(realNow() + skewMs);
    else super(...args);
  }
  static now() {
    return realNow() + skewMs;
  }
}

globalThis.Date = SkewedDate;
