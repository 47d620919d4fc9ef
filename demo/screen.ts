import type { Paint } from "./paint.ts";
import { coloured, plain } from "./paint.ts";
import { draw, LEAST_COLUMNS, ROWS, type View } from "./picture.ts";

/** Ms between two frames. */
const FRAME = 100;

/** How much a terminal can show; also `process.stdout`. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  write(text: string): unknown;
}

/** The colours that the terminal and its owner (https://no-color.org) want. */
export function paintFor(terminal: Terminal, env: NodeJS.ProcessEnv): Paint {
  const refused = (env.NO_COLOR ?? "") !== "" || env.TERM === "dumb";
  return terminal.isTTY === true && !refused ? coloured : plain;
}

/** True if the picture fits; otherwise lines have to do. */
export function canDraw(terminal: Terminal, env: NodeJS.ProcessEnv): boolean {
  const { isTTY = false, columns = 0, rows = 0 } = terminal;
  return isTTY && env.TERM !== "dumb" && columns >= LEAST_COLUMNS && rows > ROWS;
}

/** Draws the picture over itself until it is stopped, and leaves the last one standing. */
export class Screen {
  readonly #terminal: Terminal;
  readonly #paint: Paint;
  readonly #view: () => View;
  #timer: NodeJS.Timeout | undefined;
  #drawn = false;

  constructor(terminal: Terminal, paint: Paint, view: () => View) {
    this.#terminal = terminal;
    this.#paint = paint;
    this.#view = view;
  }

  start(): void {
    this.#terminal.write("\x1b[?25l");
    // On every way out, Ctrl-C included: a terminal without a cursor is a nuisance.
    process.once("exit", this.#showCursor);
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), FRAME);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#draw();
    process.off("exit", this.#showCursor);
    this.#showCursor();
  }

  readonly #showCursor = (): void => {
    this.#terminal.write("\x1b[?25h");
  };

  #draw(): void {
    const lines = draw(this.#view(), this.#terminal.columns ?? LEAST_COLUMNS, this.#paint);
    const up = this.#drawn ? `\x1b[${ROWS}A` : "";
    this.#drawn = true;
    // Erase the rest of each line of the last frame.
    this.#terminal.write(up + lines.map((line) => `${line}\x1b[K\n`).join(""));
  }
}
