/*
 * Loaded into a program of ours before it starts (`node --import`), so that SIGUSR2 sets its time of day: ten years ahead, at the next
 * one twenty back, and so on. CLOCK_OFF: seconds by which it is wrong from the start. The machine's own is left alone.
 */

const YEARS = 365 * 86_400_000;
const TURNS = [10 * YEARS, -10 * YEARS];
const RealDate = Date;
let turned = Number(process.env.CLOCK_OFF ?? 0) * 1000;

class TurnedDate extends RealDate {
  constructor(...given: [] | [number | string | Date]) {
    const [time] = given;
    super(time ?? TurnedDate.now());
  }

  static override now(): number {
    return RealDate.now() + turned;
  }
}

globalThis.Date = TurnedDate as DateConstructor;
process.on("SIGUSR2", () => {
  turned = TURNS[turned === TURNS[0] ? 1 : 0] ?? 0;
});
