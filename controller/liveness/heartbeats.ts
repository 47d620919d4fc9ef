import type { Cancel, Clock } from "../../common/clock.ts";

/** Milliseconds between two looks. */
const TICK = 1000;
/**
 * Milliseconds by which a look is so late that this process must have stood still (SIGSTOP, a paused machine, a host
 * out of CPU): then it was not the others who were silent.
 */
const LATE = 2000;
/** Seconds that a heart may be silent for, whatever it asks for: less is noise, more is nobody's idea of alive. */
export const SILENCE_SECONDS = { least: 5, most: 300 } as const;

/** How a heartbeat is. */
export interface Pulse {
  readonly alive: boolean;
  /** True once it has been seen to change since it is listened to: only then is it known that somebody is there. */
  readonly renewed: boolean;
}

interface Heart {
  /** Milliseconds. */
  duration: number;
  /** What it said last; undefined: nothing yet. */
  beat: string | undefined;
  /** When its time began: with its last change, or when we began, or went on, to listen. */
  since: number;
  /** When it began to beat as it does now: no beat since was late. */
  steadySince: number;
  pulse: Pulse;
}

/** What `Heartbeats` is made of. */
export interface HeartbeatsOptions {
  readonly clock: Clock;
  /** One has fallen silent, or is back. Told once each. */
  readonly turned: (name: string, pulse: Pulse) => void;
}

/**
 * Tells who is silent, by our own monotonic clock and by nothing else: a beat is any text that differs from the last
 * one, and what time it claims is never looked at. One that never changes is silent after the same time as one that
 * stops. Who is silent comes back by changing, not by being seen; at once, if the beat says so.
 */
export class Heartbeats {
  readonly #options: HeartbeatsOptions;
  readonly #hearts = new Map<string, Heart>();
  #due = 0;
  #cancel: Cancel | undefined;

  constructor(options: HeartbeatsOptions) {
    this.#options = options;
  }

  /**
   * Listens to it from now on. `alive`: what was believed of it before; who was silent stays so until it changes. Does
   * nothing if it is listened to already.
   */
  expect(name: string, seconds: number, alive = true): void {
    if (this.#hearts.has(name)) return;
    const pulse = { alive, renewed: false };
    const since = this.#options.clock.now();
    const heart = { beat: undefined, since, steadySince: since, pulse };
    this.#hearts.set(name, { duration: bounded(seconds), ...heart });
    if (this.#cancel === undefined) this.#wait();
  }

  /**
   * What it says now, and for how long that is good. `returns`: this brings back who was silent. Without, it takes its whole
   * time of beats.
   */
  beat(name: string, text: string, seconds: number, returns = true): void {
    this.expect(name, seconds);
    const heart = this.#hearts.get(name);
    if (heart === undefined) return;
    heart.duration = bounded(seconds);
    if (text === heart.beat) return;
    const first = heart.beat === undefined;
    const now = this.#options.clock.now();
    if (first || now - heart.since >= heart.duration) heart.steadySince = now;
    heart.beat = text;
    heart.since = now;
    if (first) return;
    const alive = heart.pulse.alive || returns || now - heart.steadySince >= heart.duration;
    this.#be(name, heart, { alive, renewed: true });
  }

  /** It is nobody's concern any more. */
  forget(name: string): void {
    this.#hearts.delete(name);
    if (this.#hearts.size === 0) this.stop();
  }

  /** How it is; undefined if it is not listened to. */
  pulse(name: string): Pulse | undefined {
    return this.#hearts.get(name)?.pulse;
  }

  /** Nobody is told of anything after this; `expect` begins anew. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(): void {
    const { clock } = this.#options;
    this.#due = clock.now() + TICK;
    this.#cancel = clock.after(TICK, () => this.#look());
  }

  #look(): void {
    const now = this.#options.clock.now();
    const late = now - this.#due >= LATE;
    this.#wait();
    for (const [name, heart] of this.#hearts) {
      if (late) heart.since = now;
      else if (heart.pulse.alive && now - heart.since >= heart.duration) {
        this.#be(name, heart, { ...heart.pulse, alive: false });
      }
    }
  }

  #be(name: string, heart: Heart, pulse: Pulse): void {
    const turned = heart.pulse.alive !== pulse.alive;
    heart.pulse = pulse;
    if (turned) this.#options.turned(name, pulse);
  }
}

function bounded(seconds: number): number {
  const { least, most } = SILENCE_SECONDS;
  return Math.min(Math.max(seconds, least), most) * 1000;
}
